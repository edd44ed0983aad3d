"""The machine as data: what it is, found by looking at it, and what it reaches, found by measuring it."""
