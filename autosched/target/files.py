"""Targets as JSON files: the named ones in `data`, or a user's own. One object with exactly the fields of `Target`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from autosched.errors import InvalidInput
from autosched.target.detect import detect_target
from autosched.target.features import FEATURES
from autosched.target.target import KINDS, Target

HOST = "host"
_LEAST = {"l3_bytes": 0}
_INTEGERS = tuple(f.name for f in fields(Target) if f.type == "int")
_TEXTS = ("kind", "isa", "core_kind")


def resolve_target(name: str = HOST, threads: int | None = None) -> Target:
    """`host`, a name in `target/data`, or a path of a JSON file; `threads` replaces the number there.

    Raises InvalidInput naming what is wrong with the file or the known names.
    """
    if name == HOST:
        return detect_target(threads)
    target = load_target(name)
    if threads is None:
        return target
    if threads < 1:
        raise InvalidInput(f"threads {threads}: must be at least 1")
    return replace(target, threads=threads)


def target_names() -> list[str]:
    """Names of the shipped targets."""
    entries = (files("autosched.target") / "data").iterdir()
    return sorted(e.name.removesuffix(".json") for e in entries if e.name.endswith(".json"))


def load_target(name: str) -> Target:
    """A shipped target by name, or one from a file."""
    if name in target_names():
        resource = files("autosched.target") / "data" / f"{name}.json"
        return parse_target(resource.read_text(encoding="utf-8"), name)
    path = Path(name)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        known = ", ".join([HOST, *target_names()])
        raise InvalidInput(f"target {name!r}: neither a file nor a known name ({known})") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"target file {name!r} cannot be read: {error}") from None
    return parse_target(text, name)


def parse_target(text: str, origin: str) -> Target:
    """Target from JSON text; `origin` names it in errors."""
    try:
        data = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InvalidInput(f"target {origin!r} is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise InvalidInput(f"target {origin!r}: must be a JSON object, is {type(data).__name__}")
    return target_of_fields(data, origin)


def target_of_fields(fields: Mapping[str, Any], origin: str) -> Target:
    """Target from its fields as JSON or a database gives them back; `origin` names it in errors."""
    data = dict(fields)
    _check_fields(data, origin)
    return Target(**{**data, "features": tuple(sorted(data["features"]))})


def target_text(target: Target) -> str:
    """JSON that `parse_target` reads back to the same target."""
    return json.dumps(asdict(target), indent=2)


def _check_fields(data: dict[str, Any], origin: str) -> None:
    known = [f.name for f in fields(Target)]
    unknown, absent = sorted(set(data) - set(known)), [n for n in known if n not in data]
    if unknown or absent:
        raise InvalidInput(f"target {origin!r}: unknown fields {unknown}, missing fields {absent}")
    for problem in (*_text_problems(data), *_integer_problems(data), *_feature_problems(data)):
        raise InvalidInput(f"target {origin!r}: {problem}")


def _text_problems(data: dict[str, Any]) -> list[str]:
    bad = [f"{n} must be text, is {data[n]!r}" for n in _TEXTS if not isinstance(data[n], str)]
    if not bad and data["kind"] not in KINDS:
        bad.append(f"kind {data['kind']!r} must be one of {', '.join(KINDS)}")
    if not bad and data["kind"] == "cpu" and data["isa"] not in FEATURES:
        bad.append(f"isa {data['isa']!r} must be one of {sorted(FEATURES)}")
    if not bad and not all(c.isalnum() or c in "-._" for c in data["core_kind"]):
        bad.append(f"core_kind {data['core_kind']!r} must be letters, digits, '-', '.' and '_'")
    return bad


def _integer_problems(data: dict[str, Any]) -> list[str]:
    return [
        f"{n} must be a whole number from {_LEAST.get(n, 1)} up, is {data[n]!r}"
        for n in _INTEGERS
        if type(data[n]) is not int or data[n] < _LEAST.get(n, 1)
    ]


def _feature_problems(data: dict[str, Any]) -> list[str]:
    names = data["features"]
    if not isinstance(names, list) or not all(isinstance(n, str) for n in names):
        return [f"features must be a list of names, is {names!r}"]
    known = {f.name for f in FEATURES.get(data["isa"], ())}
    unknown = sorted(set(names) - known) if data["kind"] == "cpu" else []
    return [f"features {unknown} are unknown for {data['isa']}"] if unknown else []
