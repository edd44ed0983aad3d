"""Candidates, measurements, trials, and the protocols of the store that keeps them.

In: what a search proposed and what measuring it gave. Out: frozen values that JSON gives back as they were, the rules
that every store keeps, the in-memory one, and the answer to "which stored winner serves this workload here?". No I/O;
it must not know SQL, how candidates are searched, or how they are measured.
"""
