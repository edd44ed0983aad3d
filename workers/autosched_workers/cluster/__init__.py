"""Workers on other hosts, joined by Ray.

    dispatcher ── starts ── bridge ── Ray ──┬─ Host      one a node: says what it is, and whether it is to go
        └── job's process ── socket ──┘     ├─ Forge     one a node: its compilers
                                            └─ Bench     one a device: a runner, used under the device's lock

In: what jobs' processes want built and run. Out: results, and news of hosts for the dispatcher. Ray is imported by the
bridge and on the nodes alone: when a cluster's head dies it ends the processes that use it, and a bridge may be lost at
any time. What was under way there is a lost attempt; no search is lost, and no state that matters is in Ray.
"""
