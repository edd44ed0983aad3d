"""Addresses: what is none, and where a token does not go."""

from __future__ import annotations

import pytest

from autosched.client.address import address_of
from autosched.errors import InvalidInput

TOKEN = "ast_0123456789ab_secret"


@pytest.mark.parametrize(
    "url",
    ["", "tuner", "ftp://tuner", "http://", "http://user:word@tuner", "http://[", "http://t/?q=1"],
)
def test_what_is_no_address_is_named(url: str) -> None:
    with pytest.raises(InvalidInput, match="server"):
        address_of(url, None)


@pytest.mark.parametrize(
    "url", ["http://tuner.example", "http://10.0.0.7:8700", "http://127.0.0.1.example:8700"]
)
def test_a_token_does_not_travel_in_the_clear(url: str) -> None:
    with pytest.raises(InvalidInput, match="in the clear") as got:
        address_of(url, TOKEN)
    assert TOKEN not in str(got.value)
    assert address_of(url, None).token is None
    assert address_of(url, TOKEN, allow_plain_token=True).token == TOKEN


@pytest.mark.parametrize(
    "url",
    ["https://tuner.example", "http://localhost:8700", "http://127.0.0.5:1", "http://[::1]:8700"],
)
def test_a_token_travels_encrypted_or_not_at_all_off_the_machine(url: str) -> None:
    address = address_of(url, TOKEN)
    assert address.headers == {"Authorization": f"Bearer {TOKEN}"}
    assert TOKEN not in repr(address)


@pytest.mark.parametrize("token", ["", "two words", "line\nbreak", "żółw"])
def test_a_token_that_is_none_is_refused_before_it_is_sent(token: str) -> None:
    with pytest.raises(InvalidInput, match="token"):
        address_of("https://tuner.example", token)
