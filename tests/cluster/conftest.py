"""Hosts where they can be had: skipped by name where not. A database on one is needed where `CI` is true."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from autosched.testing.postgres import NoPostgres
from tests.cluster.database import Database, database_on
from tests.cluster.hosts import Network, new_network
from tests.cluster.namespaces import NoHosts, require_namespaces


@pytest.fixture(scope="session")
def namespaces_work() -> None:
    try:
        require_namespaces()
    except NoHosts as reason:
        pytest.skip(str(reason))


@pytest.fixture
def network(namespaces_work: None) -> Iterator[Network]:
    """Switches without hosts."""
    with new_network() as found:
        yield found


@pytest.fixture
def database(network: Network) -> Iterator[Database]:
    """PostgreSQL on a host of its own."""
    try:
        with database_on(network.host("db")) as found:
            yield found
    except NoPostgres as reason:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(reason))
