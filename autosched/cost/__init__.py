"""How good a candidate is, before it is measured: the analytic estimate and a model learned from records.

In: feature rows. Out: scores, higher is better, and the probability that a candidate is valid. It must not know how
candidates are made or searched.
"""
