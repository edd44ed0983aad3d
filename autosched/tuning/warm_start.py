"""What a search starts from: the newest records on machines like this one, and those of its own workloads.

A model learns from a bounded number of records, those of its workload first. So the newest ones of all are enough but
for a workload that was tuned long ago, whose own are added; what is read does not grow with the database.
"""

from __future__ import annotations

from collections.abc import Iterable

from autosched.records.store import NEWEST_RECORDS, HistoryRecord, TuningStore

OWN_RECORDS = 2_000
"""Of one workload."""


def warm_start(
    store: TuningStore,
    target_isa: str,
    workload_keys: Iterable[str],
    *,
    newest: int = NEWEST_RECORDS,
) -> tuple[HistoryRecord, ...]:
    """Newest first: the `newest` of all, then older ones of these workloads, a workload after the other."""
    found = {r.trial_id: r for r in store.history(target_isa, limit=newest)}
    for key in dict.fromkeys(workload_keys):
        own = store.history(target_isa, workload_key=key, limit=OWN_RECORDS)
        found |= {r.trial_id: r for r in own if r.trial_id not in found}
    return tuple(found.values())
