"""What a newer OpenAPI document must keep of an older one, so that clients written for that go on working.

| part | may | must not |
|---|---|---|
| paths, methods, statuses, media types | come | go |
| answers: fields, known values | come | go, change type, become null where they were not |
| requests: optional fields and parameters | come | go, become required, take less |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Document = Mapping[str, Any]
Direction = Literal["request", "answer"]

NARROWING = {"maximum": -1, "maxLength": -1, "maxItems": -1, "minimum": 1, "minLength": 1}
"""Bound -> the sign of a change that takes less."""


def breaking_changes(old: Document, new: Document) -> list[str]:
    """What a client of the old document would miss, each as a sentence."""
    return list(_Comparison(old, new).paths())


@dataclass(frozen=True)
class _Comparison:
    old: Document
    new: Document

    def paths(self) -> Iterator[str]:
        for path, operations in self.old["paths"].items():
            for method, operation in operations.items():
                where = f"{method.upper()} {path}"
                now = self.new["paths"].get(path, {}).get(method)
                if now is None:
                    yield f"{where} is gone"
                    continue
                yield from self._parameters(where, operation, now)
                yield from self._body(where, operation, now)
                yield from self._answers(where, operation, now)

    def _parameters(self, where: str, old: Document, new: Document) -> Iterator[str]:
        before = {(p["in"], p["name"]): p for p in old.get("parameters", ())}
        now = {(p["in"], p["name"]): p for p in new.get("parameters", ())}
        for key, parameter in before.items():
            at = f"{where}, parameter {key[1]}"
            if key not in now:
                yield f"{at} is gone"
            else:
                yield from self._schema(at, parameter["schema"], now[key]["schema"], "request")
        for key, parameter in now.items():
            was_required = before.get(key, {}).get("required", False)
            if parameter.get("required", False) and not was_required:
                yield f"{where}, parameter {key[1]} is required now"

    def _body(self, where: str, old: Document, new: Document) -> Iterator[str]:
        before, now = old.get("requestBody"), new.get("requestBody", {})
        if now.get("required") and not (before or {}).get("required"):
            yield f"{where} needs a body now"
        if before is not None:
            yield from self._content(f"{where}, body", before, now, "request")

    def _answers(self, where: str, old: Document, new: Document) -> Iterator[str]:
        for status, answer in old["responses"].items():
            now = new["responses"].get(status)
            if now is None:
                yield f"{where} answers {status} no more"
            else:
                yield from self._content(f"{where}, {status}", answer, now, "answer")

    def _content(
        self, where: str, old: Document, new: Document, direction: Direction
    ) -> Iterator[str]:
        for kind, media in old.get("content", {}).items():
            now = new.get("content", {}).get(kind)
            if now is None:
                yield f"{where} is {kind} no more"
            else:
                yield from self._schema(where, media["schema"], now["schema"], direction)

    def _schema(
        self, where: str, old: Document, new: Document, direction: Direction, depth: int = 0
    ) -> Iterator[str]:
        old, new = _resolved(self.old, old), _resolved(self.new, new)
        if depth > 12 or old == new:
            return
        yield from _types(where, old, new, direction)
        yield from _bounds(where, old, new, direction)
        yield from self._fields(where, old, new, direction, depth)
        for inner in ("items", "additionalProperties"):
            if isinstance(old.get(inner), dict) and isinstance(new.get(inner), dict):
                at = f"{where}[]"
                yield from self._schema(at, old[inner], new[inner], direction, depth + 1)
        for before in old.get("anyOf", ()):
            yield from self._alternative(where, before, new.get("anyOf", [new]), direction, depth)

    def _fields(
        self, where: str, old: Document, new: Document, direction: Direction, depth: int
    ) -> Iterator[str]:
        before, now = old.get("properties", {}), new.get("properties", {})
        for name, schema in before.items():
            at = f"{where}.{name}"
            if name not in now:
                yield f"{at} is gone"
            else:
                yield from self._schema(at, schema, now[name], direction, depth + 1)
        was, is_now = set(old.get("required", ())), set(new.get("required", ()))
        changed = is_now - was if direction == "request" else was - is_now
        for name in sorted(changed):
            word = "required now" if direction == "request" else "optional now"
            yield f"{where}.{name} is {word}"

    def _alternative(
        self, where: str, old: Document, choices: list[Document], direction: Direction, depth: int
    ) -> Iterator[str]:
        """One of the old alternatives has a counterpart that it is compatible with."""
        found = [list(self._schema(where, old, c, direction, depth + 1)) for c in choices]
        if found and not any(not f for f in found):
            yield from min(found, key=len)


def _resolved(document: Document, schema: Document) -> Document:
    while "$ref" in schema:
        target: Any = document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        schema = target
    return schema


def _kinds(schema: Document) -> set[str]:
    """The types that a schema takes; none said means any."""
    if "anyOf" in schema:
        return {kind for one in schema["anyOf"] for kind in _kinds(one)}
    if "$ref" in schema:
        return {"object"}
    kind = schema.get("type", "any")
    return {kind} if isinstance(kind, str) else set(kind)


def _types(where: str, old: Document, new: Document, direction: Direction) -> Iterator[str]:
    before, now = _kinds(old), _kinds(new)
    wrong = before - now if direction == "request" else now - before
    if wrong and "any" not in (now if direction == "request" else before):
        word = "takes no" if direction == "request" else "may be"
        yield f"{where} {word} {', '.join(sorted(wrong))} now"
    for name in ("enum", "x-known-values"):
        gone = set(map(str, old.get(name, ()))) - set(map(str, new.get(name, ())))
        if gone and name in new:
            yield f"{where} knows {', '.join(sorted(gone))} no more"


def _bounds(where: str, old: Document, new: Document, direction: Direction) -> Iterator[str]:
    if direction == "answer":
        return
    for name, sign in NARROWING.items():
        if name in new and (name not in old or (new[name] - old[name]) * sign > 0):
            yield f"{where}: {name} is {new[name]} now, was {old.get(name, 'unbounded')}"
    if "pattern" in new and new["pattern"] != old.get("pattern"):
        yield f"{where}: the pattern is {new['pattern']} now"
    if "enum" in new and "enum" not in old:
        yield f"{where} takes only {new['enum']} now"
