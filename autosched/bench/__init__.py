"""Our kernels beside other libraries, each at its best, under equal conditions.

In: a case (a suite case or a model) and directories built for it. Out: times and ratios. Each contender runs in a
process of its own, pinned to the same cores, and blocks while it waits for its turn. It must not know searches or
databases.
"""
