"""A PostgreSQL server on disk with a large database, for the campaigns that need one.

    python -m tests.service.large --trials 10000000      # prints its URL, and serves until it is interrupted
    pytest tests/service/test_scale.py -m campaign -s --scale-url URL

It commits durably, has settings for its size, and keeps 2 GB of disk a million trials.
"""

from __future__ import annotations

import argparse
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from autosched.db.store import open_store
from autosched.testing.postgres import Cluster, cluster
from tests.service.filling import Filled, fill

TRIALS_A_WORKLOAD = 100

SERVER = {
    "fsync": "on",
    "shared_buffers": "1GB",
    "max_wal_size": "16GB",
    "checkpoint_timeout": "'30min'",
    "wal_level": "minimal",
    "max_wal_senders": "0",
}


@contextmanager
def large_server() -> Iterator[Cluster]:
    with cluster(parent=Path(tempfile.gettempdir()), settings=SERVER) as found:
        yield found


def fill_new(server: Cluster, trials: int) -> tuple[str, Filled]:
    """The URL of a new database with so many trials, and what is in it."""
    url = server.new_database()
    with open_store(url) as store:
        filled = fill(store, trials=trials, workloads=trials // TRIALS_A_WORKLOAD)
    server.sql("checkpoint")
    return url, filled


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve a large database until interrupted.")
    parser.add_argument("--trials", type=int, default=10_000_000)
    trials = parser.parse_args().trials
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    start = time.monotonic()
    with large_server() as server:
        url, _ = fill_new(server, trials)
        print(f"{trials} trials in {time.monotonic() - start:.0f} s", flush=True)
        print(url, flush=True)
        signal.sigwait({signal.SIGINT, signal.SIGTERM})


if __name__ == "__main__":
    main()
