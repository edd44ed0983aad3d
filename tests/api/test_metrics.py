"""Every metric of the table has samples from the first reading on, and they count what they say."""

from __future__ import annotations

import re

from autosched_api import metrics
from autosched_api.metrics import Metrics, Shared

from autosched.jobs.counters import LEASES_LOST, trials_counter
from autosched.records.outcome import Outcome
from tests.api.conftest import Api


def samples(text: str) -> dict[str, float]:
    lines = (line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, value in lines}


def test_every_metric_of_the_table_has_a_sample() -> None:
    read = Metrics()
    read.observe("/v1/info", "GET", "200", 0.1)
    shared = Shared({"queued": 0}, {"failed": 0}, {}, 0.0)
    text = read.text(shared).decode()
    names = re.findall(r"^[|] (autosched_\w+) [|]", metrics.__doc__ or "", re.M)
    assert len(names) == 8
    for name in names:
        assert re.search(rf"^{name}(_count)?(\{{.*\}})? ", text, re.M), name


def test_what_was_counted_is_shown(api: Api) -> None:
    before = samples(api.client.request("GET", "/metrics", headers=api.token(api.owner())[1]).text)
    api.store.count({LEASES_LOST: 2, trials_counter(Outcome.OK): 5})
    found = samples(api.client.request("GET", "/metrics", headers=api.token(api.owner())[1]).text)
    new = {name: found[name] - before[name] for name in found if name in before}
    assert new['autosched_service_total{name="leases_lost"}'] == 2
    assert new['autosched_service_total{name="duplicates_dropped"}'] == 0
    assert new['autosched_trials_total{outcome="ok"}'] == 5
    assert new['autosched_trials_total{outcome="crashed"}'] == 0
    assert 'autosched_ended_jobs{state="failed"}' in found
    assert 'autosched_lookups_total{match="exact"}' in found
