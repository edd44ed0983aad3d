"""Two targets or two compilers side by side, field by field, in words for a person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from autosched.target.target import Target

TOOLCHAIN_FIELDS = ("name", "version", "flags")
"""Those that change code, as in its key."""


def differences(need: Target, have: Target) -> list[str]:
    """Every field in which the two differ, as "FIELD: need X, have Y"."""
    return [
        _difference(f.name, getattr(need, f.name), getattr(have, f.name))
        for f in fields(Target)
        if getattr(need, f.name) != getattr(have, f.name)
    ]


def toolchain_differences(need: Mapping[str, Any], have: Mapping[str, Any]) -> list[str]:
    """Likewise, of compilers as JSON has them."""
    return [
        _difference(name, _comparable(need.get(name)), _comparable(have.get(name)))
        for name in TOOLCHAIN_FIELDS
        if _comparable(need.get(name)) != _comparable(have.get(name))
    ]


def obstacles(need: Target, have: Target) -> list[str]:
    """The differences that keep code made for `need` from running on `have`: kind, instruction set and absent features.

    Cache sizes, core kind and threads change how fast the code is, not whether it runs.
    """
    found = [
        _difference(name, getattr(need, name), getattr(have, name))
        for name in ("kind", "isa")
        if getattr(need, name) != getattr(have, name)
    ]
    absent = sorted(set(need.features) - set(have.features))
    if absent and not found:
        found.append(
            f"features: need {', '.join(absent)}, have {', '.join(have.features) or 'none'}"
        )
    return found


def _comparable(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _difference(name: str, need: object, have: object) -> str:
    if isinstance(need, tuple) and isinstance(have, tuple):
        lacks, extra = sorted(set(need) - set(have)), sorted(set(have) - set(need))
        return f"{name}: need {', '.join(lacks) or 'nothing more'}, have {', '.join(extra) or 'nothing else'}"
    return f"{name}: need {need!r}, have {have!r}"
