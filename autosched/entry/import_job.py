"""Reading a stranger's model inside a warden: each in a child of its own with limits and no privileges, JSON out.

    bytes or a name of our tables -> import -> simplify -> partition -> source key and tasks

A file of 97 bytes can ask for 256 GiB, so nothing of this runs where it could be missed. Weights are read, folded where
passes want them, and forgotten: what goes out is the text of tasks.
"""

from __future__ import annotations

import contextlib
import gc
import json
import mmap
import os
import traceback
from dataclasses import asdict
from typing import Any

import onnx

from autosched.entry.submitted import submitted_tasks
from autosched.entry.work import AnySource, Work, check_task_bytes, work_of
from autosched.errors import InvalidInput
from autosched.graph.importers.json import import_json
from autosched.graph.importers.onnx import import_onnx
from autosched.graph.limits import ImportLimits
from autosched.graph.source import ModelSource, is_table_source
from autosched.measure.containment import Ending, Limits, contain, drop_privileges
from autosched.measure.warden_process import Job

ROLE = "autosched.entry.import_job:jobs"
ANSWER_BYTES = 3 << 20
"""Of the tasks of one model as JSON."""

FORMS = ("onnx", "graph", "source")
"""What is read: an ONNX file, a graph document, or a name of the shipped tables."""


def jobs(boot: dict[str, Any]) -> dict[str, Job]:
    """The jobs of a warden that reads models. All that a child needs is loaded before it is begotten, since the user
    that it becomes may read no file."""
    for source in (_small_onnx(), import_json(_SMALL), "suite:GMM/1@1"):
        _document(work_of(source))
    gc.collect()
    gc.freeze()
    return {"import": import_model}


def import_model(
    request: dict[str, Any], files: list[int], abandon: int
) -> tuple[dict[str, Any], list[int]]:
    """`request`: form, source (a name, for that form), limits of the child and of the import, the
    bytes that one task may take (none: any number); `files`: the bytes."""

    def body(answer: int) -> None:
        said = json.dumps(_said(request, files)).encode()
        while said:
            said = said[os.write(answer, said) :]

    ending = contain(body, Limits(**request["limits"]), abandon)
    return _answer(ending), []


def _said(request: dict[str, Any], files: list[int]) -> dict[str, Any]:
    """What the child says: the work, or why there is none."""
    limits = ImportLimits(**request["import_limits"])
    try:
        work = work_of(_source(request, files, limits), limits)
        if request["task_bytes"] is not None:
            check_task_bytes(work, request["task_bytes"])
        document = _document(work)
        if len(json.dumps(document)) > ANSWER_BYTES:
            raise InvalidInput(
                f"the model has {len(work.subjects)} tasks, whose text takes more than "
                f"{ANSWER_BYTES} bytes: a smaller graph is needed"
            )
        return {"work": document}
    except InvalidInput as error:
        return {"invalid": str(error)}
    except RecursionError:
        return {"invalid": "the model is nested too deeply"}
    except MemoryError:
        return {"memory": True}
    except Exception:
        return {"fault": traceback.format_exc()}


def _source(request: dict[str, Any], files: list[int], limits: ImportLimits) -> AnySource:
    if request["form"] == "source":
        if not is_table_source(request["source"]):
            raise InvalidInput(
                f"source {request['source']!r} is no name of the tables onnx: and suite:"
            )
        return str(request["source"])
    drop_privileges()
    with contextlib.closing(mmap.mmap(files[0], 0, prot=mmap.PROT_READ)) as memory:
        data = memory[:]
    if request["form"] == "graph":
        return import_json(data, limits=limits)
    return ModelSource("model.onnx", import_onnx(data, limits=limits), data, True)


def _document(work: Work) -> dict[str, Any]:
    return {
        "name": work.name,
        "source_key": work.key,
        "tasks": [asdict(task) for task in submitted_tasks(work)],
    }


def _answer(ending: Ending) -> dict[str, Any]:
    output = ending.output.decode("utf-8", "replace")
    answer = {
        "kind": ending.kind,
        "status": ending.status,
        "seconds": ending.wall_seconds,
        "output": output,
    }
    if ending.kind == "exited" and ending.status == 0:
        with contextlib.suppress(ValueError):
            answer["said"] = json.loads(ending.answer)
    return answer


_SMALL = """{"autosched_graph": 1, "inputs": [{"name": "x", "dtype": "float32", "shape": [1, 3, 8, 8]}],
"constants": [{"name": "w", "dtype": "float32", "shape": [4, 3, 3, 3], "fill": 0.5}],
"nodes": [{"name": "c", "op": "Conv", "inputs": ["x", "w"], "outputs": ["y"]},
          {"name": "r", "op": "Relu", "inputs": ["y"], "outputs": ["z"]}], "outputs": ["z"]}"""


def _small_onnx() -> ModelSource:
    """A model that touches what reading one touches."""
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"]), helper.make_node("Relu", ["y"], ["z"])],
        "warm",
        [helper.make_tensor_value_info("x", kind, [2, 3])],
        [helper.make_tensor_value_info("z", kind, [2, 2])],
        [helper.make_tensor("w", kind, [3, 2], [1.0] * 6)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    data = model.SerializeToString()
    return ModelSource("warm", import_onnx(data), data, True)
