"""Messages between the tuner and a warden: JSON with a length in front, and open files beside it, over a Unix socket.

No pickle: what comes from a process that ran a kernel is data to be checked, never code.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Sequence
from typing import Any

MAX_MESSAGE_BYTES = 64 << 20
MAX_FILES = 128
_LENGTH = struct.Struct("<I")


class ChannelClosed(Exception):
    """The other side is gone, or says what cannot be read."""


class ChannelTimeout(Exception):
    """Nothing came in time."""


class Channel:
    """One end of a connected stream socket; it owns the socket."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, message: dict[str, Any], files: Sequence[int] = ()) -> None:
        """Sends one message; `files` are descriptors, duplicated into the receiver."""
        body = json.dumps(message).encode()
        data = _LENGTH.pack(len(body)) + body
        self._socket.settimeout(None)
        try:
            sent = socket.send_fds(self._socket, [data], list(files)) if files else 0
            self._socket.sendall(memoryview(data)[sent:])
        except OSError as error:
            raise ChannelClosed(str(error)) from None

    def receive(self, timeout_seconds: float | None = None) -> tuple[dict[str, Any], list[int]]:
        """The next message and the files that came with it, which the caller closes."""
        deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        files: list[int] = []
        header = self._read(_LENGTH.size, deadline, files)
        (length,) = _LENGTH.unpack(header)
        if length > MAX_MESSAGE_BYTES:
            raise ChannelClosed(f"a message of {length} bytes")
        try:
            message = json.loads(self._read(length, deadline, files))
        except ValueError as error:
            raise ChannelClosed(f"not JSON: {error}") from None
        if not isinstance(message, dict):
            raise ChannelClosed("a message that is no object")
        return message, files

    def close(self) -> None:
        self._socket.close()

    def _read(self, n_bytes: int, deadline: float | None, files: list[int]) -> bytes:
        parts = bytearray()
        while len(parts) < n_bytes:
            part, fresh = self._read_some(n_bytes - len(parts), deadline)
            files += fresh
            if not part:
                raise ChannelClosed("end of stream")
            parts += part
        return bytes(parts)

    def _read_some(self, n_bytes: int, deadline: float | None) -> tuple[bytes, list[int]]:
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            raise ChannelTimeout
        self._socket.settimeout(left)
        try:
            part, fresh, _, _ = socket.recv_fds(self._socket, n_bytes, MAX_FILES)
        except TimeoutError:
            raise ChannelTimeout from None
        except OSError as error:
            raise ChannelClosed(str(error)) from None
        return part, list(fresh)
