"""The names of what dispatchers and their jobs add up in the database, for whoever counts and whoever shows.

| name | counts |
|---|---|
| leases_lost | jobs that their holder could not keep |
| duplicates_dropped | results of trials that had one already |
| trials_OUTCOME | trials closed, by outcome; those pruned before a compiler ran are none |
"""

from __future__ import annotations

from collections.abc import Mapping

from autosched.records.outcome import Outcome

LEASES_LOST = "leases_lost"
DUPLICATES_DROPPED = "duplicates_dropped"
FAULTS = (LEASES_LOST, DUPLICATES_DROPPED)


def trials_counter(outcome: Outcome) -> str:
    return f"trials_{outcome.value}"


def faults(counters: Mapping[str, int]) -> dict[str, int]:
    """What went wrong, by name; zero where nothing did."""
    return {name: counters.get(name, 0) for name in FAULTS}


def trials(counters: Mapping[str, int]) -> dict[Outcome, int]:
    """Closed trials by outcome, zero included."""
    counted = (o for o in Outcome if o is not Outcome.PRUNED)
    return {o: counters.get(trials_counter(o), 0) for o in counted}
