"""Starting a dispatcher: its place among the workers, its signals, its end."""

from __future__ import annotations

import os
import secrets
import signal
import socket

from autosched.db.store import connect
from autosched.entry.product_version import product_version
from autosched.entry.service_log import open_log
from autosched.entry.space_version import SPACE_VERSION
from autosched.jobs.workers import Worker
from autosched.measure.janitor import sweep
from autosched_workers.driver import Dispatcher, Post
from autosched_workers.lab import Lab, Offer, host_device
from autosched_workers.state import Options


def dispatch(db: str, lab: Lab, options: Options) -> None:
    """Serves the queue of a database until SIGTERM or SIGINT. InvalidInput: the database cannot be opened."""
    sweep()
    store = connect(db)
    offer = lab.offer()
    worker = worker_of(offer)
    log = open_log(process="dispatcher", holder=worker.id)
    try:
        store.register(worker)  # so that jobs for it are accepted from now on
        dispatcher = Dispatcher(Post(db, worker.id, offer), store, lab, options, log)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: dispatcher.stop())
        dispatcher.run()
    finally:
        store.close_connections()


def worker_of(offer: Offer) -> Worker:
    """This process among the workers: its id is never used again."""
    host = socket.gethostname()
    target, toolchain = offer.fields()
    return Worker(
        id=f"{host}-{os.getpid()}-{secrets.token_hex(4)}"[-80:],
        host=host,
        target_key=offer.target.key,
        target=target,
        max_threads=offer.target.threads,
        toolchain_key=offer.toolchain.key,
        toolchain=toolchain,
        devices=tuple(host_device(d) for d in offer.devices),
        versions={"autosched": product_version(), "space": SPACE_VERSION},
    )
