"""Candidates, measurements, trials and the store that keeps them: values and one protocol, no I/O of its own."""
