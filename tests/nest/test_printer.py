"""Nest text against golden files."""

from __future__ import annotations

from pathlib import Path

import pytest

from autosched.nest.printer import nest_text
from autosched.testing.nests import (
    NESTS,
)

GOLDEN = Path(__file__).parent.parent / "golden" / "nest"


@pytest.mark.parametrize("name", NESTS)
def test_text_is_the_golden_one(name: str, update_golden: bool) -> None:
    example = NESTS[name]()
    text = f"{nest_text(example.nest)}\n{nest_text(example.nest, example.environment)}"
    path = GOLDEN / f"{name}.txt"
    if update_golden:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()
