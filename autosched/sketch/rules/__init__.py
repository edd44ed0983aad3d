"""Rules: one file each, and the ordered lists of them.

A rule looks at one open stage of a plan and answers with an `Answer`: skip, try (its plans, and the rules after it
too) or commit (its plans only). Conditions read stage properties and target fields, never names.
"""
