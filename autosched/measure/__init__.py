"""Build, check and time candidates where nothing they do can hurt the tuner.

In: kernels, a check, a timing policy. Out: measurements, in which a failing candidate is a value. It must not know
where candidates come from or what is done with the result.
"""
