"""Reading an ELF file just far enough to know that it is a shared object for this machine and what it exports.

Layout: System V ABI, chapters 4 and 5, 64-bit little-endian only.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SHARED = 3
_DYNAMIC_SYMBOLS = 11
MACHINES = {"x86-64": 62, "aarch64": 183}


class NotAnObject(Exception):
    """The bytes are no shared object for the machine; the message says why."""


def exported_symbols(data: bytes, isa: str) -> frozenset[str]:
    """Names of the defined dynamic symbols. Raises NotAnObject."""
    try:
        return frozenset(_defined(data, isa))
    except (struct.error, IndexError, UnicodeDecodeError, ValueError) as error:
        raise NotAnObject(f"damaged: {error}") from None


def _defined(data: bytes, isa: str) -> Iterator[str]:
    if data[:4] != b"\x7fELF":
        raise NotAnObject(f"starts with {data[:4]!r}, not with the ELF mark")
    header = _HEADER.unpack_from(data)
    kind, machine, sections_at = header[1], header[2], header[6]
    if data[4:6] != b"\x02\x01" or kind != _SHARED or machine != MACHINES[isa]:
        raise NotAnObject(
            f"ELF class {data[4]}, type {kind}, machine {machine}: not a shared object for {isa}"
        )
    size, count = header[11], header[12]
    sections = [_SECTION.unpack_from(data, sections_at + i * size) for i in range(count)]
    for section in sections:
        if section[1] == _DYNAMIC_SYMBOLS:
            names = sections[section[6]]
            yield from _symbols(data, section, names[4])


def _symbols(data: bytes, section: tuple[int, ...], names_at: int) -> Iterator[str]:
    offset, size = section[4], section[5]
    for at in range(offset, offset + size, _SYMBOL.size):
        name, _, _, index, _, _ = _SYMBOL.unpack_from(data, at)
        if index:
            start = names_at + name
            yield data[start : data.index(b"\0", start)].decode()
