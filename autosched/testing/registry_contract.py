"""What is kept of workers and tokens."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from autosched.jobs.access import Token, digest_of, matches, new_secret
from autosched.jobs.record import SetupKey
from autosched.jobs.workers import Worker
from autosched.testing.records import (
    TARGET,
    TOOLCHAIN,
    TOOLCHAIN_KEY,
)
from autosched.testing.submissions import ServiceStore, claim, submit


class RegistryContract:
    """Workers and tokens."""

    def worker(self, name: str, **fields: Any) -> Worker:
        return Worker(
            name,
            "host",
            TARGET.key,
            asdict(TARGET),
            TARGET.threads,
            TOOLCHAIN_KEY,
            TOOLCHAIN,
            (f"{name}/0", f"{name}/1"),
            {"space": "1"},
            **fields,
        )

    def test_worker_comes_back_and_makes_its_target_known(self, store: ServiceStore) -> None:
        assert store.target(TARGET.key) is None
        store.register(self.worker("w1", note="new"))
        found = store.workers()[0]
        assert (found.id, found.devices, found.versions, found.note) == (
            "w1",
            ("w1/0", "w1/1"),
            {"space": "1"},
            "new",
        )
        assert (found.state, found.toolchain, found.target) == (
            "active",
            TOOLCHAIN,
            store.target(TARGET.key),
        )
        assert found.seen_at is not None

    def test_survey_counts_others_who_have_a_device_and_no_job(self, store: ServiceStore) -> None:
        setup = SetupKey(TARGET.key, TOOLCHAIN_KEY)
        store.register(self.worker("w1"))
        for device in ("w1/0", "w1/1"):
            store.lease_device("d2", device, lease_seconds=60)
        store.lease_device("d3", "w2/0", lease_seconds=60)

        def hungry(holder: str, setup: SetupKey) -> int:
            return store.survey(holder, [setup], window_seconds=60).hungry

        assert hungry("d1", setup) == 1, "no worker has the device of the third"
        assert hungry("d1", SetupKey(TARGET.key, "c1-other")) == 0
        assert hungry("d2", setup) == 0
        claim(store, submit(store).id, "d2")
        assert hungry("d1", setup) == 0

    def test_worker_is_seen_drained_and_gone(self, store: ServiceStore) -> None:
        long_ago = datetime.now(UTC) - timedelta(days=1)
        store.register(self.worker("w1", started_at=long_ago))
        store.register(self.worker("w2"))
        store.register(self.worker("w1", started_at=long_ago, note="again"))
        assert [(w.id, w.note) for w in store.workers()] == [("w2", ""), ("w1", "again")]
        store.seen("w2", "draining")
        assert [w.state for w in store.workers(alive_only=True)] == ["draining", "active"]
        store.seen("w2", "gone")
        assert [w.id for w in store.workers(alive_only=True)] == ["w1"]
        store.seen("none")

    def test_token_is_good_until_it_is_revoked(self, store: ServiceStore) -> None:
        token_id, text = new_secret()
        now = datetime.now(UTC)
        given = Token(
            token_id,
            "ann",
            frozenset({"read", "submit"}),
            digest_of(text),
            now - timedelta(hours=1),
            now + timedelta(days=1),
        )
        store.add_token(given)
        assert store.token(token_id) == given
        assert store.token("none") is None
        newer = replace(given, id="newer", created_at=None, expires_at=None)
        store.add_token(newer)
        assert [t.id for t in store.tokens()] == ["newer", token_id]
        assert store.revoke(token_id)
        revoked = store.token(token_id)
        assert revoked is not None
        assert not matches(revoked, text, now)
        assert store.revoke(token_id)
        assert store.token(token_id) == revoked
        assert not store.revoke("none")
