"""Ids of jobs: UUID version 7 (RFC 9562), whose text sorts by the time it was made."""

from __future__ import annotations

import secrets
import time
import uuid


def new_job_id() -> str:
    """A UUIDv7: 48 bits of milliseconds since 1970, then 74 random bits."""
    milliseconds = time.time_ns() // 1_000_000
    random_a, random_b = secrets.randbits(12), secrets.randbits(62)
    number = (milliseconds & (1 << 48) - 1) << 80 | 7 << 76 | random_a << 64 | 2 << 62 | random_b
    return str(uuid.UUID(int=number))
