"""What a service refuses, in the words of the command line.

| the service says | the command says |
|---|---|
| `/trials: ...`, `query/state: ...` | the option: `--trials: ...`, `--state: ...` |
| a token is missing | how to give one |
| the token that was given is unknown or lacks a scope | the same |
| 404 for a path of ours, or no answer of ours | that this is no service's URL, and what one looks like |
"""

from __future__ import annotations

from autosched.client import ServiceError
from autosched.errors import AutoschedError, InvalidInput
from autosched.wire.problem import NO_SUCH_PATH

OPTIONS = {
    "graph": "SOURCE",
    "source": "SOURCE",
    "labels": "--label",
    **{
        name: f"--{name.replace('_', '-')}"
        for name in (
            "trials",
            "seconds",
            "target",
            "threads",
            "seed",
            "priority",
            "queue_seconds",
            "state",
            "label",
            "limit",
            "cursor",
            "toolchain",
        )
    },
}
"""Field or parameter of a request -> what a user wrote it as."""

TOKEN_STATUSES = frozenset({401, 403})
NO_PROBLEM = "about:blank"
"""The type of what answers without being a service of ours."""


def told(error: ServiceError, server: str, *, has_token: bool) -> AutoschedError:
    """The error to show instead; InvalidInput where another command line would help."""
    if error.status in TOKEN_STATUSES:
        if has_token:
            return InvalidInput(str(error))
        return InvalidInput(
            f"{error}; a token is given with --token or in AUTOSCHED_TOKEN, and over plain http to another machine with "
            f"--allow-plain-token beside it; `autosched token create` makes one where {server} runs"
        )
    is_elsewhere = error.status == 404 and (error.type == NO_PROBLEM or str(error) == NO_SUCH_PATH)
    if is_elsewhere or error.status < 300:
        return InvalidInput(
            f"{server} answers, but not as an autosched service does ({error}): its URL is http://HOST:PORT or "
            "https://HOST, without /v1"
        )
    message = _with_options(error)
    return error if message == str(error) else InvalidInput(message)


def _with_options(error: ServiceError) -> str:
    message = str(error)
    for breach in error.errors:
        field = breach.pointer.removeprefix("query").strip("/").partition("/")[0]
        if field in OPTIONS:
            message = message.replace(f"{breach.pointer}: ", f"{OPTIONS[field]}: ")
    return message
