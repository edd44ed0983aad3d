"""Two targets side by side, field by field, in words for a person."""

from __future__ import annotations

from dataclasses import fields

from autosched.target.target import Target


def differences(need: Target, have: Target) -> list[str]:
    """Every field in which the two differ, as "FIELD: need X, have Y"."""
    return [
        _difference(f.name, getattr(need, f.name), getattr(have, f.name))
        for f in fields(Target)
        if getattr(need, f.name) != getattr(have, f.name)
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


def _difference(name: str, need: object, have: object) -> str:
    if isinstance(need, tuple) and isinstance(have, tuple):
        lacks, extra = sorted(set(need) - set(have)), sorted(set(have) - set(need))
        return f"{name}: need {', '.join(lacks) or 'nothing more'}, have {', '.join(extra) or 'nothing else'}"
    return f"{name}: need {need!r}, have {have!r}"
