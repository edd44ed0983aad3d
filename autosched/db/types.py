"""Column types that mean the same on every database."""

from __future__ import annotations

import struct
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import DateTime, Dialect, LargeBinary
from sqlalchemy.types import TypeDecorator


class UtcDateTime(TypeDecorator[datetime]):
    """An instant: needs a time zone on the way in and has UTC on the way out, also where the database keeps none."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value} has no time zone")
        return value.astimezone(UTC)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        known: datetime = value if value.tzinfo else value.replace(tzinfo=UTC)
        return known.astimezone(UTC)


class FloatRow(TypeDecorator[tuple[float, ...]]):
    """A row of float64, little-endian. Features follow from derivation and values; they are kept for speed alone."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: tuple[float, ...] | None, dialect: Dialect) -> bytes | None:
        return None if value is None else struct.pack(f"<{len(value)}d", *value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> tuple[float, ...]:
        return () if value is None else struct.unpack(f"<{len(value) // 8}d", value)
