"""A built module on a graph with views, a concatenation, several outputs and an input among them."""

from __future__ import annotations

import multiprocessing
import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from autosched.entry.build import build_chosen
from autosched.entry.kernels import Kernels
from autosched.entry.machine import Setup, set_up
from autosched.entry.winners import Chosen, defaults
from autosched.entry.work import Work, work_of
from autosched.errors import InvalidInput
from autosched.graph.execute import run_plan
from autosched.graph.importers.onnx import import_onnx
from autosched.runtime.directory import load_directory
from autosched.runtime.module import Module
from tests.graph.graph_cases import node
from tests.graph.models import model_bytes

Array = Any

SHAPE = (2, 3, 8, 8)
OUTPUTS = ("y", "f", "k", "x", "xf", "b")


def model() -> bytes:
    """x -> two convolutions side by side -> k, flattened -> f -> y; also x itself, x flattened, and a constant."""
    rng = np.random.default_rng(5)
    constants = {
        "v": rng.standard_normal((4, 3, 3, 3)).astype(np.float32),
        "w": rng.standard_normal((6, 3, 1, 1)).astype(np.float32),
        "g": (rng.standard_normal((11, 160)) * 0.1).astype(np.float32),
        "b": rng.standard_normal(11).astype(np.float32),
    }
    nodes = [
        node("Conv", "x v", "c", pads=[1] * 4),
        node("Relu", "c", "r"),
        node("Conv", "x w", "d"),
        node("Concat", "r d", "j", axis=1),
        node("MaxPool", "j", "k", kernel_shape=[2, 2], strides=[2, 2]),
        node("Flatten", "k", "f"),
        node("Gemm", "f g b", "h", transB=1),
        node("Softmax", "h", "y"),
        node("Flatten", "x", "xf"),
    ]
    return model_bytes(nodes, {"x": SHAPE}, OUTPUTS, constants)


@pytest.fixture(scope="module")
def setup() -> Setup:
    return set_up()


@pytest.fixture(scope="module")
def work() -> Work:
    return work_of(import_onnx(model()))


@pytest.fixture(scope="module")
def chosen(work: Work, setup: Setup) -> list[Chosen]:
    return defaults(work, setup.target)


@pytest.fixture(scope="module")
def module(
    work: Work, chosen: list[Chosen], setup: Setup, tmp_path_factory: pytest.TempPathFactory
) -> Module:
    folder: Path = tmp_path_factory.mktemp("module") / "built"
    build_chosen(work, chosen, setup, folder)
    return load_directory(folder)


def image(seed: int) -> Array:
    return np.random.default_rng(seed).standard_normal(SHAPE).astype(np.float32)


def expected(x: Array) -> dict[str, Array]:
    evaluator = ReferenceEvaluator(onnx.load_from_string(model()))
    return dict(zip(OUTPUTS, evaluator.run(None, {"x": x}), strict=True))


def assert_right(outputs: dict[str, Array], x: Array) -> None:
    wanted = expected(x)
    assert outputs.keys() == wanted.keys()
    for name, array in wanted.items():
        assert outputs[name].shape == array.shape
        np.testing.assert_allclose(outputs[name], array, rtol=1e-4, atol=1e-5, err_msg=name)


def test_every_output_is_what_the_reference_gives(module: Module) -> None:
    for seed in range(3):
        assert_right(module(image(seed)), image(seed))
    assert_right(module(x=image(7)), image(7))


def test_it_gives_what_its_kernels_give_one_by_one(
    module: Module, work: Work, chosen: list[Chosen], setup: Setup
) -> None:
    kernels = Kernels(chosen, setup)
    alone = run_plan(work.plan, {"x": image(1)}, kernels.run)
    whole = kernels.run_plan(work.plan, {"x": image(1)})
    for name, array in module(image(1)).items():
        assert np.array_equal(array, alone[name]), name
        assert np.array_equal(array, whole[name]), name


def test_a_later_call_leaves_earlier_outputs_alone(module: Module) -> None:
    x = image(1)
    first = module(x)
    kept = {name: array.copy() for name, array in first.items()}
    module(image(2))
    x[:] = 0
    for name, array in first.items():
        assert np.array_equal(array, kept[name]), name


def test_outputs_share_no_memory(module: Module) -> None:
    x = image(1)
    outputs = list(module(x).values())
    outputs[-1][:] = 0  # the constant: the module's own is another
    assert_right(module(x), x)
    for i, array in enumerate(outputs):
        assert not np.may_share_memory(array, x)
        assert not any(np.may_share_memory(array, other) for other in outputs[:i])


@pytest.mark.parametrize(
    "given",
    [
        np.asfortranarray,
        lambda x: np.repeat(x, 2, axis=3)[..., ::2],
        lambda x: np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(SHAPE),
        memoryview,
    ],
    ids=["fortran", "strided", "unaligned", "buffer"],
)
def test_inputs_may_lie_in_any_way(given: Any, module: Module) -> None:
    x = image(3)
    assert_right(module(given(x)), x)
    assert np.array_equal(x, image(3))


def test_callers_from_several_threads_get_their_own_results(module: Module) -> None:
    results: dict[int, list[dict[str, Array]]] = {}

    def calls(seed: int) -> None:
        x = image(seed)
        results[seed] = [module(x) for _ in range(20)]

    callers = [threading.Thread(target=calls, args=(seed,)) for seed in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    for seed in range(4):
        alone = module(image(seed))
        assert len(results[seed]) == 20
        for outputs in results[seed]:
            assert all(np.array_equal(outputs[n], alone[n]) for n in OUTPUTS)


def test_a_forked_process_runs_it_with_threads_of_its_own(module: Module) -> None:
    x = image(7)
    assert_right(module(x), x)
    child = multiprocessing.get_context("fork").Process(target=lambda: assert_right(module(x), x))
    child.start()
    child.join(timeout=60)
    child.kill()
    assert child.exitcode == 0


def test_outputs_are_written_to_arrays_of_the_callers(module: Module) -> None:
    out = {n: np.full_like(a, np.nan) for n, a in expected(image(4)).items() if n != "k"}
    outputs = module.into(out, image(4))
    assert_right(outputs, image(4))
    assert all(outputs[name] is array for name, array in out.items())


def test_bound_arrays_are_read_at_every_run(module: Module) -> None:
    x = image(5)
    outputs = module.bind({"x": x})
    module.run()
    assert_right(outputs, x)
    x[:] = image(6)
    module.run()
    assert_right(outputs, image(6))
    module(image(1))
    with pytest.raises(RuntimeError):
        module.run()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "input 'x'.*missing"),
        ({"x": image(0).astype(np.float64)}, "input 'x' is float64"),
        ({"x": image(0)[:1]}, r"input 'x' is float32\[1, 3, 8, 8\]"),
        ({"x": image(0).astype(">f4")}, "input 'x'"),
        ({"x": image(0), "z": image(0)}, "input 'z'"),
    ],
)
def test_a_wrong_input_is_named(given: dict[str, Array], message: str, module: Module) -> None:
    with pytest.raises(InvalidInput, match=message):
        module(**given)
    assert_right(module(image(0)), image(0))


def test_an_input_cannot_be_given_twice(module: Module) -> None:
    with pytest.raises(InvalidInput, match="'x' is given twice"):
        module(image(0), x=image(0))
    with pytest.raises(InvalidInput, match="2 inputs given"):
        module(image(0), image(0))


def wrong_outputs() -> dict[str, tuple[dict[str, Any], str]]:
    x = image(0)
    read_only = np.zeros((2, 11), np.float32)
    read_only.flags.writeable = False
    both = np.zeros(2 * 160, np.float32)
    return {
        "unknown": ({"z": x}, "output 'z'"),
        "list": ({"y": [1.0]}, "output 'y' is a list"),
        "shape": ({"y": np.zeros((2, 10), np.float32)}, "output 'y'"),
        "dtype": ({"y": np.zeros((2, 11))}, "output 'y' is float64"),
        "strided": ({"y": np.zeros((2, 22), np.float32)[:, ::2]}, "output 'y' must be contiguous"),
        "read-only": ({"y": read_only}, "output 'y' must be"),
        "the input": ({"x": x}, "output 'x' has the memory of input 'x'"),
        "another": (
            {"f": both.reshape(2, 160), "k": both.reshape(2, 10, 4, 4)},
            "output 'k' has the memory of output 'f'",
        ),
    }


@pytest.mark.parametrize("case", wrong_outputs())
def test_a_wrong_output_array_is_named(case: str, module: Module) -> None:
    out, message = wrong_outputs()[case]
    x = out["x"] if case == "the input" else image(0)
    with pytest.raises(InvalidInput, match=message):
        module.into(out, x)


def small(
    nodes: list[onnx.NodeProto], shape: tuple[int, ...], folder: Path, setup: Setup
) -> Module:
    work = work_of(import_onnx(model_bytes(nodes, {"x": shape}, ["y"])))
    build_chosen(work, defaults(work, setup.target), setup, folder)
    return load_directory(folder)


def test_a_directory_built_anew_is_loaded_anew(tmp_path: Path, setup: Setup) -> None:
    """The loader of shared objects remembers paths."""
    x = np.linspace(-2, 2, 30, dtype=np.float32).reshape(5, 6)
    for node_, wanted in (
        (node("Relu", "x", "y"), np.maximum(x, 0)),
        (node("Neg", "x", "y"), -x),
    ):
        module = small([node_], (5, 6), tmp_path / "built", setup)
        assert np.array_equal(module(x)["y"], wanted)


@pytest.mark.parametrize("content", [None, b"", b"\x7fELF"])
@pytest.mark.parametrize("lost", ["pool.so", "kernels/*.so", "packed/*.npy"])
def test_a_directory_that_lost_a_file_is_refused(
    lost: str, content: bytes | None, tmp_path: Path, work: Work, chosen: list[Chosen], setup: Setup
) -> None:
    build_chosen(work, chosen, setup, tmp_path / "built")
    moved = shutil.copytree(tmp_path / "built", tmp_path / "moved")
    for path in moved.glob(lost):
        path.unlink()
        if content is not None:
            path.write_bytes(content)
    with pytest.raises(InvalidInput, match="incomplete or damaged"):
        load_directory(moved)


class Unreadable:
    """An array of a library that does not hand it out."""

    def __dlpack__(self) -> object:
        raise BufferError("no")


def test_an_input_that_is_not_handed_out_is_named(module: Module) -> None:
    with pytest.raises(InvalidInput, match=r"input 'x' .* cannot be read as an array: no"):
        module(Unreadable())


def test_empty_tensors_need_no_kernel(tmp_path: Path, setup: Setup) -> None:
    module = small([node("Relu", "x", "y")], (0, 7), tmp_path / "built", setup)
    assert module(np.zeros((0, 7), np.float32))["y"].shape == (0, 7)


def test_constants_without_data_are_packed_whenever_they_are_bound(
    tmp_path: Path, setup: Setup
) -> None:
    work = work_of("suite:GMM/1@1")
    build_chosen(work, defaults(work, setup.target), setup, tmp_path / "built")
    module = load_directory(tmp_path / "built")
    rng = np.random.default_rng(3)
    (output,) = work.plan.outputs
    shapes = [work.plan.types[n].shape for n in work.plan.inputs]
    for _ in range(2):
        a, b = (rng.standard_normal(shape).astype(np.float32) for shape in shapes)
        np.testing.assert_allclose(module(a, b)[output], a @ b, rtol=1e-3, atol=1e-3)
