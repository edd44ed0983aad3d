"""What an error of Ray says about what was under way: nothing about the candidate, or that we have a bug.

| error | of whom | so |
|---|---|---|
| RayTaskError of an OSError, MemoryError or RayError | what we called found its host without room, or an object gone | the attempt is lost |
| any other RayTaskError | what we called raised | it is ours, and is raised |
| RuntimeEnvSetupError, AuthenticationError, CrossLanguageError | how we set Ray up | it is ours, and is raised |
| every other RayError: of actors, nodes, objects, memory, timeouts | the cluster | the attempt is lost |

The first row of `MEANINGS` that fits counts.
"""

from __future__ import annotations

from typing import Literal

from ray import exceptions

Meaning = Literal["lost", "bug"]

MEANINGS: tuple[tuple[type[Exception], Meaning], ...] = (
    (exceptions.RayTaskError, "bug"),
    (exceptions.RuntimeEnvSetupError, "bug"),
    (exceptions.AuthenticationError, "bug"),
    (exceptions.CrossLanguageError, "bug"),
    (exceptions.RayError, "lost"),
)


OF_HOSTS = (OSError, MemoryError, exceptions.RayError)
"""What actors raise that says something of their host: its disk is full, its memory used up."""


def meaning_of(error: Exception) -> Meaning:
    """Errors that are not Ray's are ours."""
    if isinstance(error, exceptions.RayTaskError) and isinstance(error.cause, OF_HOSTS):
        return "lost"
    return next((meaning for kind, meaning in MEANINGS if isinstance(error, kind)), "bug")


def is_gone(error: Exception) -> bool:
    """Whether what was asked is gone, so that it may be asked anew: it has not answered by raising something itself."""
    return meaning_of(error) == "lost" and not isinstance(error, exceptions.RayTaskError)


def words_of(error: Exception) -> str:
    """In one line: what Ray says of a loss, or what was raised, which stands last."""
    lines = str(error).strip().splitlines() or [repr(error)]
    if isinstance(error, exceptions.RayTaskError) or meaning_of(error) == "bug":
        return lines[-1]
    return f"{type(error).__name__}: {lines[0]}"
