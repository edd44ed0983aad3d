"""What the tests of the client share: a scripted server and a clock."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.client.scripted import Clock, Scripted, serving


@pytest.fixture
def server() -> Iterator[Scripted]:
    with serving() as scripted:
        yield scripted


@pytest.fixture
def clock() -> Clock:
    return Clock()
