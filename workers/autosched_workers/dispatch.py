"""Starting a dispatcher: its place among the workers, its signals, its end."""

from __future__ import annotations

import os
import secrets
import signal
import socket

from autosched.db.store import SqlTuningStore, connect
from autosched.entry.service_log import Log, open_log
from autosched.measure.janitor import sweep
from autosched_workers.cluster.fleet import ClusterFleet
from autosched_workers.cluster.node import Member
from autosched_workers.cluster.probe import can_join
from autosched_workers.driver import Dispatcher, Post
from autosched_workers.fleet import Fleet, OwnHost
from autosched_workers.lab import HostLab
from autosched_workers.state import Options
from autosched_workers.versions import versions


def dispatch(db: str, lab: HostLab | Member, options: Options) -> None:
    """Serves the queue of a database until SIGTERM or SIGINT, with the devices of this host, or as a member of a
    cluster with those of its workers. InvalidInput: the database cannot be opened, or the cluster is open to anybody."""
    sweep()
    store = connect(db)
    holder = fresh_holder()
    log = open_log(process="dispatcher", holder=holder)
    fleet = _fleet(lab, holder, store, log)
    try:
        dispatcher = Dispatcher(Post(db, holder), store, fleet, options, log)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: dispatcher.stop())
        dispatcher.run()
    finally:
        fleet.close()
        store.close_connections()


def _fleet(lab: HostLab | Member, holder: str, store: SqlTuningStore, log: Log) -> Fleet:
    if isinstance(lab, Member):
        can_join(lab)  # a head that is not there yet is waited for
        return ClusterFleet(lab, log)
    offer = lab.offer()
    worker = offer.worker(holder, socket.gethostname(), versions())
    store.register(worker)  # so that jobs for it are accepted from now on
    return OwnHost(lab, worker, offer.setups())


def fresh_holder() -> str:
    """The name of this process, which is never used again."""
    return f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"[-80:]
