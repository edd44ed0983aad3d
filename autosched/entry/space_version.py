"""The version of the space: which rules and printers give a derivation its meaning.

A newer one does not orphan old winners: they are replayed, and what gives the same text is exact still.
"""

SPACE_VERSION = "2"
