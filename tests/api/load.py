"""A load generator in a process of its own: so many connections, each with one request under way, for so long.

    python -m tests.api.load --port 8700 --seconds 60 --connections 8 < requests

Reads whole requests from stdin as JSON strings, one a line, and sends them in a random order for ever. Prints one JSON
object: requests, errors, seconds, rate, and percentiles of the latency in milliseconds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class Seen:
    """What the answers were: latencies in seconds, statuses other than 200."""

    latencies: list[float] = field(default_factory=list)
    errors: int = 0
    example: str = ""


class Connection(asyncio.Protocol):
    """One connection: sends the next request as soon as the whole answer is there."""

    def __init__(self, requests: Sequence[bytes], seen: Seen, until: float, seed: int) -> None:
        self._requests = requests
        self._seen = seen
        self._until = until
        self._random = random.Random(seed)
        self._buffer = b""
        self._sent_at = 0.0
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._send()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, gap, body = self._buffer.partition(b"\r\n\r\n")
        if not gap or len(body) < _length(head):
            return
        self._seen.latencies.append(time.perf_counter() - self._sent_at)
        if not head.startswith(b"HTTP/1.1 200"):
            self._seen.errors += 1
            self._seen.example = self._buffer[:500].decode("latin-1")
        self._buffer = b""
        if time.perf_counter() >= self._until:
            self._transport.close()
            return
        self._send()

    def connection_lost(self, error: Exception | None) -> None:
        if error is not None:
            self._seen.errors += 1
            self._seen.example = repr(error)
        if not self.done.done():
            self.done.set_result(None)

    def _send(self) -> None:
        self._sent_at = time.perf_counter()
        self._transport.write(self._random.choice(self._requests))


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0


async def load(
    port: int,
    requests: Sequence[bytes],
    *,
    connections: int,
    seconds: float,
    host: str = "127.0.0.1",
) -> dict[str, float | int | str]:
    seen, loop = Seen(), asyncio.get_running_loop()
    started = time.perf_counter()
    opened = [
        await loop.create_connection(
            lambda i=i: Connection(requests, seen, started + seconds, i), host, port
        )
        for i in range(connections)
    ]
    await asyncio.gather(*(protocol.done for _, protocol in opened))
    return summary(seen, time.perf_counter() - started)


def summary(seen: Seen, seconds: float) -> dict[str, float | int | str]:
    ordered = sorted(seen.latencies)

    def at(share: float) -> float:
        return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1e3, 3)

    return {
        "requests": len(ordered),
        "errors": seen.errors,
        "example": seen.example,
        "seconds": round(seconds, 3),
        "rate": round(len(ordered) / seconds, 1),
        "p50_ms": at(0.5),
        "p99_ms": at(0.99),
        "p999_ms": at(0.999),
        "max_ms": round(ordered[-1] * 1e3, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Load a service.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=60.0)
    asked = parser.parse_args()
    requests = [json.loads(line).encode() for line in sys.stdin]
    done = asyncio.run(
        load(asked.port, requests, connections=asked.connections, seconds=asked.seconds)
    )
    print(json.dumps(done))


if __name__ == "__main__":
    main()
