"""Features of whole populations, from the symbolic nest.

In: sketches (nests with open decisions) and decision values as integer columns. Out: one float32 row of fixed length a
candidate, and the static checks that prune it. One table defines every feature. It must not know records, models or
how candidates are searched.
"""
