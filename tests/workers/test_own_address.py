"""A head is named HOST:PORT; whoever names it otherwise is told so, in those words alone."""

from __future__ import annotations

import pytest
from autosched_workers.cluster.node import own_address

from autosched.errors import InvalidInput


@pytest.mark.parametrize("head", ["127.0.0.1", "127.0.0.1:", ":6379", "host:ray", "host:70000", ""])
def test_what_is_no_host_and_port_is_refused_in_words(head: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        own_address(head)
    assert str(refused.value) == f"cluster {head!r}: must be HOST:PORT of a head"


def test_a_host_with_an_overlong_label_is_refused() -> None:
    with pytest.raises(InvalidInput, match="must be HOST:PORT of a head"):
        own_address("h" * 300 + ":6379")


def test_this_host_reaches_itself_by_its_own_address() -> None:
    assert own_address("127.0.0.1:6379") == "127.0.0.1"
