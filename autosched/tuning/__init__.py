"""The loop of one job: propose, store, build, measure, close, confirm, until the budget is spent.

In: tasks (workloads with weights), a store, a builder, a runner, a search policy for each task. Out: trials and winners
in the store, events while it runs, a report at the end. It must not know SQL, Ray or where the job came from.
"""
