"""Submitted work: what the API and the dispatchers say to each other, which they do through the database alone.

A job waits in a queue until a dispatcher claims it. A claim raises the job's fence and leases it for some seconds, by
the database's clock; whoever cannot renew a lease loses it, and the next claim's fence shuts the loser out of every
decision about the job. Results need no fence: the first one of an open trial counts, whoever brings it.

    queued --claim--> running --end--> succeeded | failed | cancelled --resume--> queued
                        |  ^
                        +--+  the lease ended or was handed over: still running, claimed again

In: the values of `records`. Out: the records and the protocols of queue, leases, events, tokens and workers, which `db`
implements, and the rule that shares devices between owners. It must not know SQL, HTTP, or how a search works.
"""
