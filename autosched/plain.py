"""Plain text: what people name things with, and what a terminal may be sent.

It holds no control characters (line feeds and escapes among them), no separators of lines or paragraphs, nothing that
turns the direction of writing, and no lone surrogates: no database takes all of those, and a terminal obeys some.
Names, labels and ids of strangers are plain or refused; whatever else they wrote is shown with the rest spelled out.
"""

from __future__ import annotations

import re
from typing import Final

from autosched.errors import InvalidInput

_REFUSED: Final = r"\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"

PLAIN_PATTERN: Final = rf"^[^{_REFUSED}]*$"
"""For schemas of JSON, whose texts hold no lone surrogates anyway."""

_NOT_PLAIN: Final = re.compile(rf"[{_REFUSED}\ud800-\udfff]")
_NOT_SHOWN: Final = re.compile(rf"(?![\n\t])[{_REFUSED}\ud800-\udfff]")


def is_plain(text: str) -> bool:
    return _NOT_PLAIN.search(text) is None


def check_plain(what: str, text: str) -> None:
    """InvalidInput names the first character of a text that is not plain."""
    found = _NOT_PLAIN.search(text)
    if found is not None:
        raise InvalidInput(
            f"{what} {text[:100]!a} holds {found[0]!a}: control characters are refused"
        )


def shown(text: str) -> str:
    """A text of several lines for a terminal: "a\\x1b[2J" -> "a\\\\x1b[2J"."""
    return _NOT_SHOWN.sub(lambda found: ascii(found[0])[1:-1], text)


def shown_json(text: str) -> str:
    """JSON for a terminal: the same document, in which such characters stand as escapes."""
    return _NOT_SHOWN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
