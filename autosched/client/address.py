"""Where a service is, and whether a token may travel there."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field

import httpx

from autosched.errors import InvalidInput

SCHEMES = ("http", "https")
HOST = re.compile(rb"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.%]+\]")


@dataclass(frozen=True)
class Address:
    """The URL of a service and who asks. The token never shows in a repr or a message."""

    url: httpx.URL
    token: str | None = field(default=None, repr=False)

    @property
    def headers(self) -> dict[str, str]:
        return {} if self.token is None else {"Authorization": f"Bearer {self.token}"}

    def __str__(self) -> str:
        return str(self.url).rstrip("/")


def address_of(url: str, token: str | None, *, allow_plain_token: bool = False) -> Address:
    """InvalidInput: no HTTP address, credentials inside it, or a token that would travel in the clear.

    Over plain http a token goes to this machine alone, unless `allow_plain_token` says that the line is trusted.
    """
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError) as error:
        raise InvalidInput(f"server {url!r} is not a URL: {error}") from None
    if parsed.scheme not in SCHEMES or not HOST.fullmatch(_bracketed(parsed.raw_host)):
        raise InvalidInput(f"server {url!r} must be http://HOST:PORT or https://HOST")
    if parsed.userinfo:
        raise InvalidInput("a server's URL must hold no user or password: give a token instead")
    if parsed.query or parsed.fragment:
        raise InvalidInput(f"server {url!r} must end with its path: no query, no fragment")
    if token is not None:
        _check_token(parsed, token, allow_plain_token)
    return Address(parsed.copy_with(path=parsed.path.rstrip("/") + "/"), token)


def _bracketed(host: bytes) -> bytes:
    return b"[" + host + b"]" if b":" in host else host


def _check_token(url: httpx.URL, token: str, allow_plain_token: bool) -> None:
    if not token.isascii() or not token.isprintable() or not token or " " in token:
        raise InvalidInput(
            "the token must be one word of printable ASCII, as `token create` printed it"
        )
    if url.scheme == "http" and not allow_plain_token and not is_loopback(url.host):
        raise InvalidInput(
            f"a token would travel to {url.host} in the clear: use https, or allow a plain one "
            "(--allow-plain-token) if you trust the line"
        )


def is_loopback(host: str) -> bool:
    """Whether a host's name or address is this machine's own."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
