"""Options and fixtures of the whole suite."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from autosched.testing.postgres import Cluster, NoPostgres, cluster


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the golden files anew instead of comparing",
    )
    parser.addoption(
        "--differential-seed", type=int, default=1, help="seed of the random candidates"
    )
    parser.addoption(
        "--scale-trials",
        type=int,
        default=10_000_000,
        help="rows of the campaign on large databases",
    )
    parser.addoption("--scale-url", help="a large database that is there, instead of one made anew")


def pytest_report_header(config: pytest.Config) -> str:
    return f"differential seed: {config.getoption('--differential-seed')}"


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture(scope="session")
def postgres() -> Iterator[Cluster]:
    """A PostgreSQL server of this process's tests. Without one they are skipped; where `CI` is true they fail."""
    try:
        with cluster() as found:
            yield found
    except NoPostgres as reason:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(reason))


@pytest.fixture
def postgres_url(postgres: Cluster) -> Iterator[str]:
    """A fresh PostgreSQL database at the current schema."""
    url = postgres.new_database()
    yield url
    postgres.drop(url)
