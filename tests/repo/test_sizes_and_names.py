"""What keeps the code readable: small modules and functions, telling names, a docstring in every package."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE_ROOTS = ("autosched", "api/autosched_api", "workers/autosched_workers")
SOURCES = sorted(p for root in SOURCE_ROOTS for p in (ROOT / root).rglob("*.py"))

MAX_MODULE_LINES = 500
MAX_FUNCTION_LINES = 60
FORBIDDEN_NAMES = {
    "util",
    "utils",
    "helper",
    "helpers",
    "common",
    "misc",
    "base",
    "core",
    "manager",
}


HAND_WRITTEN_NESTS = {"autosched/testing/gpu_nests.py"}
"""Whole loop programs written out as data for tests: one literal, not a function to split."""


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_sources_are_found() -> None:
    assert len(SOURCES) > 10


def test_modules_stay_small() -> None:
    lines = {relative(p): len(p.read_text().splitlines()) for p in SOURCES}
    assert not {name: n for name, n in lines.items() if n > MAX_MODULE_LINES}


def test_functions_stay_small() -> None:
    found = {
        f"{relative(p)}:{f.name}": n
        for p in SOURCES
        if relative(p) not in HAND_WRITTEN_NESTS
        for f in functions(ast.parse(p.read_text()))
        if (n := (f.end_lineno or f.lineno) - f.lineno + 1) > MAX_FUNCTION_LINES
    }
    assert not found


def test_no_junk_drawers() -> None:
    assert not [
        relative(p)
        for p in SOURCES
        if p.stem in FORBIDDEN_NAMES or p.parent.name in FORBIDDEN_NAMES
    ]


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_module_begins_with_its_idea(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text())), "the first thing in a file says its idea"


PACKAGES = sorted(
    p
    for root in SOURCE_ROOTS
    for p in (ROOT / root).glob("__init__.py" if "/" in root else "*/__init__.py")
    if p.parent.name != "testing"
)
"""Of the product, all but what tests share."""


@pytest.mark.parametrize("path", PACKAGES, ids=relative)
def test_package_says_what_comes_in_what_goes_out_and_what_it_must_not_know(path: Path) -> None:
    said = " ".join((ast.get_docstring(ast.parse(path.read_text())) or "").split())
    assert "In:" in said
    assert "Out:" in said
    assert "must not" in said.lower()


def test_every_folder_of_sources_is_a_package() -> None:
    folders = {p.parent for p in SOURCES}
    assert not [relative(f) for f in folders if not (f / "__init__.py").exists()]


def test_the_library_reads_no_environment() -> None:
    """Programs alone may read a variable; a result must not depend on hidden state."""
    readers = {
        relative(p)
        for p in SOURCES
        if any(
            isinstance(n, ast.Attribute)
            and isinstance(n.value, ast.Name)
            and n.value.id == "os"
            and n.attr in {"environ", "getenv"}
            for n in ast.walk(ast.parse(p.read_text()))
        )
    }
    programs = {n for n in readers if n.startswith("autosched/cli/") or n.endswith("__main__.py")}
    assert readers <= programs | FOR_CHILDREN | OF_ACTORS


FOR_CHILDREN = {
    "autosched/bench/contender.py",
    "workers/autosched_workers/processes.py",
    "workers/autosched_workers/cluster/fleet.py",
    "workers/autosched_workers/cluster/node_process.py",
    "workers/autosched_workers/cluster/probe.py",
}
"""Modules that make the environment of child processes; they read no setting from it."""

OF_ACTORS = {"workers/autosched_workers/cluster/workplace.py"}
"""A program is told what it needs; an actor's node has only its environment to tell it."""
