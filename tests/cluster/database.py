"""PostgreSQL on a test host: in memory that outlives the host, listening on the host's address."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from autosched.testing.postgres import SERVER_USER, Cluster, cluster
from tests.cluster.hosts import INSIDE, SUBNETS, Host

SETTINGS = {"listen_addresses": "'*'"}
CLIENTS = f"{SUBNETS[INSIDE]}.0/24"


@dataclass(frozen=True)
class Database:
    """`near`: the URL by which the test reaches it, through a socket in the shared directory, whatever the links are;
    `far`: the URL by which hosts do, through their network."""

    host: Host
    server: Cluster
    near: str

    @property
    def name(self) -> str:
        return self.near.partition("@/")[2].partition("?")[0]

    @property
    def far(self) -> str:
        return f"postgresql://{SERVER_USER}@{self.host.address}/{self.name}"

    def start_after_reboot(self) -> None:
        """Starts the server on its host, which ended and came up again."""
        n_words = len(self.host.enter())
        self.server.as_user = (*self.host.enter(), *self.server.as_user[n_words:])
        self.server.start()


@contextmanager
def database_on(host: Host, *, is_empty: bool = False) -> Iterator[Database]:
    """A server on a host, and a database in it at the current schema, or without tables."""
    with cluster(
        parent=host.network.shared, settings=SETTINGS, prefix=host.enter(), clients=CLIENTS
    ) as server:
        made = server.empty_database() if is_empty else server.new_database()
        yield Database(host, server, made)
