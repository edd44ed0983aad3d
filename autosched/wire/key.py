"""Fields that stand in many documents: keys, times, words.

Ids and keys are opaque and safe in a URL as they are. A word is one of those known today; more may come within `/v1`, so
whoever reads one must bear with others.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, Field, PlainSerializer

KEY_PATTERN = r"^[A-Za-z0-9._~-]{1,80}$"

Key = Annotated[str, Field(pattern=KEY_PATTERN)]
"""An id or a content key."""


def rfc3339(moment: datetime) -> str:
    """A moment in UTC as `2026-01-31T12:00:00.000000Z`; one without a zone is UTC."""
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return aware.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


Time = Annotated[
    datetime, AfterValidator(_utc), PlainSerializer(rfc3339, return_type=str, when_used="json")
]
"""A moment; RFC 3339 in UTC."""


def words(known: Sequence[str]) -> Any:
    """What a schema says of a text that is one of these, or of those that come later."""
    return Field(json_schema_extra={"x-known-values": list(known)})
