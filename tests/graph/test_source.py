"""`SOURCE`: files, models inside onnx, cases of the suite, and names that are none of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from onnx import helper

from autosched.errors import InvalidInput
from autosched.graph.importers.json import export_json
from autosched.graph.limits import ImportLimits
from autosched.graph.source import (
    ModelSource,
    SuiteSource,
    is_table_source,
    load_source,
    onnx_model_names,
)
from tests.graph.models import model_bytes

MODEL = model_bytes([helper.make_node("Relu", ["x"], ["y"])], {"x": [2, 3]}, ["y"])


def test_files_of_both_kinds(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(MODEL)
    model = load_source(str(tmp_path / "m.onnx"))
    assert isinstance(model, ModelSource)
    assert model.is_onnx
    assert model.name == "m.onnx"
    (tmp_path / "m.json").write_text(export_json(model.graph))
    again = load_source(str(tmp_path / "m.json"))
    assert isinstance(again, ModelSource)
    assert not again.is_onnx
    assert again.graph.nodes == model.graph.nodes


def test_suite_cases_match_a_pattern() -> None:
    source = load_source("suite:GMM/*@1")
    assert isinstance(source, SuiteSource)
    assert [c.name for c in source.cases] == [f"GMM/{i}@1" for i in range(1, 5)]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("onnx:resnet", "onnx:resnet is unknown; known: light_"),
        ("onnx:../light/light_resnet50", "unknown"),
        ("suite:XYZ/1@1", "XYZ"),
        ("nothing.onnx", "No such file"),
        ("model.pb", "no .onnx or .json file"),
        ("", "no .onnx or .json file"),
        ("https://example.com/model", "no .onnx or .json file"),
    ],
)
def test_names_of_nothing_are_refused(text: str, rule: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        load_source(text)
    assert rule in str(caught.value)


def test_large_files_are_refused_before_they_are_read(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(MODEL)
    with pytest.raises(InvalidInput, match="at most 10"):
        load_source(str(tmp_path / "m.onnx"), limits=ImportLimits(file_bytes=10))


def test_table_sources_are_told_from_paths() -> None:
    assert is_table_source("suite:GMM/1@1")
    assert is_table_source(f"onnx:{onnx_model_names()[0]}")
    assert not is_table_source("model.onnx")
    assert not is_table_source("file:model.onnx")
