"""The typed client of the service: the same methods blocking (`Client`) and awaited (`AsyncClient`).

A call is data (`calls`), how it is repeated is a program of steps that does no I/O itself (`exchange`, `events`), and
two small drivers perform the steps (`blocking`, `awaiting`); no rule is written twice.

In: the address of a service, a token, sources. Out: the documents of `wire`, and typed errors. It must not know
terminals, databases, environment variables, or how anything is tuned.
"""

from __future__ import annotations

from autosched.client.awaiting import AsyncClient
from autosched.client.blocking import Client
from autosched.client.lookup import BestLookup, Found, LookupMiss
from autosched.client.problems import InvalidRequest, NotThere, ServiceAway, ServiceError
from autosched.client.steps import Patience

__all__ = [
    "AsyncClient",
    "BestLookup",
    "Client",
    "Found",
    "InvalidRequest",
    "LookupMiss",
    "NotThere",
    "Patience",
    "ServiceAway",
    "ServiceError",
]
