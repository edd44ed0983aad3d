"""The symbolic loop program: one representation, read with columns (features), with ints (text) or interpreted (tests).

In: buffers, loops and statements whose extents are expressions over decisions. Out: nests that are verified, printed
and interpreted. It must not know operators, graphs, or how a nest was derived.
"""
