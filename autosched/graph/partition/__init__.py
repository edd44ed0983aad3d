"""Partition: a graph cut into workloads, each one kernel, with the reason of every cut.

In: a simplified graph and a fusion policy. Out: tasks (a workload, how often it is called), the plan that runs them in
order, and one decision an edge. It must not know how a kernel is made.
"""
