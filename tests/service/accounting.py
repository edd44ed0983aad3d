"""What the accounts must say whatever was killed: the database against the journal of the devices."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from tests.service.world import Accounts, Row


def check_accounts(world: Accounts, closed_before: Mapping[str, Row], *, kills: int) -> None:
    """No committed row lost or changed, no run twice under one key, every run its row or of an earlier attempt, and at
    most two runs that came to nothing a kill and device that it reaches, besides those under way."""
    runs = world.runs()
    rows = world.rows()  # between the two readings of the journal, for the devices go on
    later = world.runs()
    for trial, row in closed_before.items():
        assert rows.get(trial) == row, f"{trial} was {row}, is {rows.get(trial)}"
    assert len(set(runs)) == len(runs), f"run twice under one key: {_twice(runs)}"
    for trial, attempt in runs:
        assert trial in rows, f"{trial} ran and has no row"
        assert attempt <= rows[trial].attempt, f"{trial} ran as {attempt}, stands at {rows[trial]}"
    ran = [t for t, row in rows.items() if row.outcome == "ok" and not row.is_reused]
    missing = set(ran) - {trial for trial, _ in later}
    assert not missing, f"closed without a run: {sorted(missing)[:5]}"
    wasted = len(runs) - len(ran)
    most = 2 * kills + world.devices
    assert wasted <= most, f"{wasted} runs came to nothing in {kills} kills"


def check_never_two_at_once(entries: Iterable[Mapping[str, Any]]) -> None:
    """No run on a device began before the one before had ended there. `entries`: of journals whose hosts share a clock."""
    by_device: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for entry in entries:
        by_device[entry["device"]].append(entry)
    for device, runs in by_device.items():
        assert all(r["begun"] <= r["ended"] for r in runs)
        for first, second in pairwise(sorted(runs, key=lambda r: float(r["begun"]))):
            assert first["ended"] <= second["begun"], f"two at once on {device}: {first}, {second}"


def closed(rows: Mapping[str, Row]) -> dict[str, Row]:
    return {trial: row for trial, row in rows.items() if row.outcome is not None}


def _twice(runs: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    return sorted({run for run in runs if runs.count(run) > 1})[:5]
