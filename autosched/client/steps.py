"""What a call does, as data: programs yield steps, a driver performs them and sends the result back in.

A program never touches a socket, a clock or a terminal, so that one text serves the blocking and the awaited client.
A connection that fails is a value (`Lost`), not an exception: the program decides what it means.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar


@dataclass(frozen=True)
class Request:
    """One request. `path` is below the service's URL. `body` is sent as JSON; with `model`, as the part `request` of a
    form whose part `model` is streamed from that file. `is_repeatable`: doing it twice does it once."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    model: Path | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    is_repeatable: bool = True


@dataclass(frozen=True)
class Reply:
    """An answer. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


@dataclass(frozen=True)
class Lost:
    """No answer, and why. `was_sent`: the service may have done what was asked."""

    reason: str
    was_sent: bool = True


@dataclass(frozen=True)
class Send:
    """Ask and read the whole answer within some seconds -> Reply | Lost."""

    request: Request
    seconds: float


@dataclass(frozen=True)
class Open:
    """Ask for a stream -> Reply | Lost; the body of a success stays to be read."""

    request: Request
    seconds: float


@dataclass(frozen=True)
class Read:
    """Read on in the open stream -> bytes | Lost; no bytes at its end. `seconds`: the longest silence."""

    seconds: float


@dataclass(frozen=True)
class Wait:
    """Sleep, since `why` -> None."""

    seconds: float
    why: str


@dataclass(frozen=True)
class Emit:
    """Hand a value to whoever iterates -> None."""

    value: Any


Step = Send | Open | Read | Wait | Emit
T = TypeVar("T")
Program = Generator[Step, Any, T]


@dataclass(frozen=True)
class Patience:
    """How long a call may take, all its tries together; seconds.

    Between tries it waits `first_wait`, twice as long each time up to `longest_wait`, each time an even draw from half
    of that to all of it, so that clients that lost one server do not return in step. A stream of events that breaks is
    taken up again for `follow` seconds; `silence` is how long nothing may come before a connection counts as lost.
    """

    deadline: float = 60.0
    connect: float = 5.0
    silence: float = 45.0
    first_wait: float = 0.2
    longest_wait: float = 10.0
    follow: float = 600.0

    def wait(self, tries: int, uniform: Callable[[], float]) -> float:
        """Seconds to wait after so many tries."""
        whole = min(self.longest_wait, self.first_wait * 2.0 ** min(tries - 1, 30))
        return whole * (0.5 + 0.5 * uniform())


@dataclass(frozen=True)
class Context:
    """What programs may know of the world: the time in seconds from anywhere, and numbers drawn evenly from [0, 1)."""

    now: Callable[[], float]
    uniform: Callable[[], float]
    patience: Patience


Plan = Callable[[Context], Program[T]]
"""A call with its arguments: what a method of a client runs."""
