"""The blocking client: performs the steps of a plan, one after the other."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Self

import httpx

from autosched.client import carrier
from autosched.client.address import address_of
from autosched.client.methods import Blocking, Service
from autosched.client.steps import (
    Context,
    Emit,
    Lost,
    Open,
    Patience,
    Plan,
    Read,
    Reply,
    Request,
    Send,
    Step,
    T,
    Wait,
)


class Client(Service, Blocking):
    """The service at `url`, asked as whoever the token says. May be shared between threads.

    with Client("https://tuner.example", token) as client:
        job = client.submit("model.onnx", trials=200)
        for event in client.events(job.id): ...
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        allow_plain_token: bool = False,
        patience: Patience | None = None,
        on_wait: Callable[[str], None] = lambda why: None,
        uniform: Callable[[], float] | None = None,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """InvalidInput: no URL, or a token that would travel in the clear without `allow_plain_token`.

        `on_wait` hears why a call waits before it is tried again.
        """
        self.address = address_of(url, token, allow_plain_token=allow_plain_token)
        self.context = Context(now, uniform or random.Random().random, patience or Patience())
        self.sleep = sleep
        self.on_wait = on_wait
        self.http = httpx.Client(
            transport=transport, verify=carrier.needs_tls(self.address), trust_env=False
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self.http.close()

    def perform(self, plan: Plan[T]) -> T:
        program, result = plan(self.context), None
        with _Line(self) as line:
            while True:
                try:
                    step = program.send(result)
                except StopIteration as end:
                    value: T = end.value
                    return value
                result = line.perform(step)

    def iterate(self, plan: Plan[None]) -> Iterator[Any]:
        program, result = plan(self.context), None
        with _Line(self) as line:
            while True:
                try:
                    step = program.send(result)
                except StopIteration:
                    return
                if isinstance(step, Emit):
                    yield step.value
                result = line.perform(step)


class _Line:
    """Performs the steps of one plan; holds the stream that it has open."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._open = ExitStack()
        self._chunks: Iterator[bytes] = iter(())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def perform(self, step: Step) -> Reply | Lost | bytes | None:
        try:
            match step:
                case Send():
                    return self._send(step.request, step.seconds)
                case Open():
                    return self._begin(step.request, step.seconds)
                case Read():
                    return next(self._chunks, b"")
                case Wait():
                    self._client.on_wait(step.why)
                    self._client.sleep(step.seconds)
        except (httpx.HTTPError, httpx.StreamError) as error:
            return carrier.lost(error, self._client.address)
        return None

    def _send(self, request: Request, seconds: float) -> Reply | Lost:
        client = self._client
        ends = client.context.now() + seconds
        with self._response(request, seconds) as response:
            body = bytearray()
            for chunk in response.iter_bytes():
                body += chunk
                if client.context.now() > ends:
                    return carrier.too_slow(client.address, seconds)
        return carrier.reply_of(response, bytes(body))

    def _begin(self, request: Request, seconds: float) -> Reply:
        self._open.close()
        response = self._open.enter_context(self._response(request, seconds))
        if not response.is_success:
            return carrier.reply_of(response, response.read())
        self._chunks = response.iter_bytes()
        return carrier.reply_of(response)

    @contextmanager
    def _response(self, request: Request, seconds: float) -> Iterator[httpx.Response]:
        client = self._client
        with carrier.prepared(client.address, request) as wanted:
            limits = carrier.timeouts(client.context.patience, seconds)
            response = client.http.send(
                client.http.build_request(**wanted, timeout=limits), stream=True
            )
        try:
            yield response
        finally:
            response.close()
