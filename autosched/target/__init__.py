"""The machine as data: what it is, found by looking at it, and what it reaches, found by measuring it.

In: the host, a shipped name or a JSON file; a C compiler. Out: `Target` and `Toolchain`, whose keys hold every field
that changes code and nothing else, and `Calibration`, which is part of no key. It must not know what code is made.
"""
