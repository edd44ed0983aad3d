"""The methods of both clients, written once: a descriptor runs a plan blocking or awaited, as its owner does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import update_wrapper
from typing import Any, Generic, ParamSpec, Self, TypeVar, overload

from autosched.client import calls, submission
from autosched.client import events as feed
from autosched.client.steps import Plan

P = ParamSpec("P")
T = TypeVar("T")
V = TypeVar("V")


class Blocking:
    """Runs plans and returns when they are done."""

    def perform(self, plan: Plan[T]) -> T:
        raise NotImplementedError

    def iterate(self, plan: Plan[None]) -> Iterator[Any]:
        """What the plan emits."""
        raise NotImplementedError


class Awaiting:
    """Runs plans as coroutines."""

    async def perform(self, plan: Plan[T]) -> T:
        raise NotImplementedError

    def iterate(self, plan: Plan[None]) -> AsyncIterator[Any]:
        """What the plan emits."""
        raise NotImplementedError


class Method(Generic[P, T]):
    """`job = Method(calls.job)`: a method with the arguments and the words of the function, which makes a plan."""

    def __init__(self, plan: Callable[P, Plan[T]]) -> None:
        self._plan = plan
        self.__doc__ = plan.__doc__

    @overload
    def __get__(self, owner: None, kind: type) -> Self: ...
    @overload
    def __get__(self, owner: Blocking, kind: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, owner: Awaiting, kind: type) -> Callable[P, Awaitable[T]]: ...
    def __get__(self, owner: Blocking | Awaiting | None, kind: type) -> Any:
        if owner is None:
            return self

        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return owner.perform(self._plan(*args, **kwargs))

        return update_wrapper(method, self._plan)


class Stream(Generic[P, V]):
    """`events = Stream(feed.follow, feed.Event)`: a method that yields what the plan emits."""

    def __init__(self, plan: Callable[P, Plan[None]], value: type[V]) -> None:
        self._plan = plan
        self.__doc__ = plan.__doc__

    @overload
    def __get__(self, owner: None, kind: type) -> Self: ...
    @overload
    def __get__(self, owner: Blocking, kind: type) -> Callable[P, Iterator[V]]: ...
    @overload
    def __get__(self, owner: Awaiting, kind: type) -> Callable[P, AsyncIterator[V]]: ...
    def __get__(self, owner: Blocking | Awaiting | None, kind: type) -> Any:
        if owner is None:
            return self

        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return owner.iterate(self._plan(*args, **kwargs))

        return update_wrapper(method, self._plan)


class Service:
    """What a client can ask; see the function behind each method."""

    info = Method(calls.info)
    health = Method(calls.health)
    submit = Method(submission.submit)
    job = Method(calls.job)
    jobs = Method(calls.jobs)
    wait = Method(feed.wait)
    events = Stream(feed.follow, feed.Event)
    cancel = Method(calls.cancel)
    resume = Method(calls.resume)
    trials = Method(calls.trials)
    trial = Method(calls.trial)
    best = Method(calls.best)
    best_many = Method(calls.best_many)
    targets = Method(calls.targets)
    workers = Method(calls.workers)
    workload = Method(calls.workload)
    ops = Method(calls.ops)
