"""The awaited client: performs the steps of a plan without holding up its event loop."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Self

import httpx

from autosched.client import carrier
from autosched.client.address import address_of
from autosched.client.methods import Awaiting, Service
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


class AsyncClient(Service, Awaiting):
    """The service at `url`, asked as whoever the token says. May be shared between tasks of one event loop.

    async with AsyncClient("https://tuner.example", token) as client:
        job = await client.submit("model.onnx", trials=200)
        async for event in client.events(job.id): ...
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
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """InvalidInput: no URL, or a token that would travel in the clear without `allow_plain_token`.

        `on_wait` hears why a call waits before it is tried again.
        """
        self.address = address_of(url, token, allow_plain_token=allow_plain_token)
        self.context = Context(now, uniform or random.Random().random, patience or Patience())
        self.sleep = sleep
        self.on_wait = on_wait
        self.http = httpx.AsyncClient(
            transport=transport, verify=carrier.needs_tls(self.address), trust_env=False
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self.http.aclose()

    async def perform(self, plan: Plan[T]) -> T:
        program, result = plan(self.context), None
        async with _Line(self) as line:
            while True:
                try:
                    step = program.send(result)
                except StopIteration as end:
                    value: T = end.value
                    return value
                result = await line.perform(step)

    async def iterate(self, plan: Plan[None]) -> AsyncIterator[Any]:
        program, result = plan(self.context), None
        async with _Line(self) as line:
            while True:
                try:
                    step = program.send(result)
                except StopIteration:
                    return
                if isinstance(step, Emit):
                    yield step.value
                result = await line.perform(step)


class _Line:
    """Performs the steps of one plan; holds the stream that it has open."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._open = AsyncExitStack()
        self._chunks: AsyncIterator[bytes] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._open.aclose()

    async def perform(self, step: Step) -> Reply | Lost | bytes | None:
        try:
            match step:
                case Send():
                    return await self._send(step.request, step.seconds)
                case Open():
                    return await self._begin(step.request, step.seconds)
                case Read():
                    return b"" if self._chunks is None else await anext(self._chunks, b"")
                case Wait():
                    self._client.on_wait(step.why)
                    await self._client.sleep(step.seconds)
        except (httpx.HTTPError, httpx.StreamError) as error:
            return carrier.lost(error, self._client.address)
        return None

    async def _send(self, request: Request, seconds: float) -> Reply | Lost:
        client = self._client
        ends = client.context.now() + seconds
        async with self._response(request, seconds) as response:
            body = bytearray()
            async for chunk in response.aiter_bytes():
                body += chunk
                if client.context.now() > ends:
                    return carrier.too_slow(client.address, seconds)
        return carrier.reply_of(response, bytes(body))

    async def _begin(self, request: Request, seconds: float) -> Reply:
        await self._open.aclose()
        response = await self._open.enter_async_context(self._response(request, seconds))
        if not response.is_success:
            return carrier.reply_of(response, await response.aread())
        self._chunks = response.aiter_bytes()
        return carrier.reply_of(response)

    @asynccontextmanager
    async def _response(self, request: Request, seconds: float) -> AsyncIterator[httpx.Response]:
        client = self._client
        with carrier.prepared(client.address, request) as wanted:
            limits = carrier.timeouts(client.context.patience, seconds)
            response = await client.http.send(
                client.http.build_request(**wanted, timeout=limits), stream=True
            )
        try:
            yield response
        finally:
            await response.aclose()
