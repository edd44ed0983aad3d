"""What the accounts must say whatever was killed: the database against the journal of the devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.service.world import Row, World


def check_accounts(world: World, closed_before: Mapping[str, Row], *, kills: int) -> None:
    """No committed row lost or changed, no run twice under one key, every run its row or of an earlier attempt, and at
    most two runs a kill and device that came to nothing."""
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
    under_way = world.settings.dispatchers
    assert wasted <= 2 * kills + under_way, f"{wasted} runs came to nothing in {kills} kills"


def closed(rows: Mapping[str, Row]) -> dict[str, Row]:
    return {trial: row for trial, row in rows.items() if row.outcome is not None}


def _twice(runs: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    return sorted({run for run in runs if runs.count(run) > 1})[:5]
