"""Honest kernels, built and run as the tuner does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from autosched.codegen.kernel import BufferSpec, Kernel, RegionSpec
from autosched.errors import InvalidInput
from autosched.measure.build import LocalBuilder
from autosched.measure.calibrate import bandwidth_kernel, peak_kernel
from autosched.measure.journal import now_seconds, objects_folder, read_lines
from autosched.measure.protocol import Artefact, Check, InputSet, TimingPolicy
from autosched.measure.runner import LocalRunner
from autosched.records.outcome import Outcome
from autosched.target.calibration import Calibration, MemoryLevel, ThreadCalibration
from autosched.target.target import Target
from autosched.testing.kernels import HEAD, doubling_check, doubling_kernel

POLICY = TimingPolicy(threads=1, cap_seconds=0.005)

PACKED = f"""{HEAD}
REGION(p_r0) {{ const float *w = in[1]; float *p = out[0]; for (int64_t i = first; i < last; i++) p[i] = w[99 - i]; }}
REGION(k_r0) {{ const float *x = in[0], *p = in[2]; float *s = out[2], *mine = scratch;
    for (int64_t i = first; i < last; i++) {{ mine[99] = x[i]; s[i] = mine[99] * p[i]; }} }}
REGION(k_r1) {{ const float *s = out[2]; float *y = out[0]; int *n = out[1]; float sum = 0;
    for (int i = 0; i < 100; i++) sum += s[i]; *y = sum; *n = 100; }}
"""


def packed_kernel() -> Kernel:
    """Two inputs, of which one is packed backwards; a workspace between two regions; two outputs of two types."""
    return Kernel(
        name="dot",
        language="c",
        source=PACKED,
        inputs=(BufferSpec("x", "float32", 100), BufferSpec("w", "float32", 100)),
        outputs=(BufferSpec("y", "float32", 1), BufferSpec("n", "int32", 1)),
        packed=(BufferSpec("p", "float32", 100),),
        workspaces=(BufferSpec("s", "float32", 100),),
        prepare=(RegionSpec("p_r0", 100, 0),),
        regions=(RegionSpec("k_r0", 100, 400), RegionSpec("k_r1", 1, 0)),
        operations=200,
    )


def packed_check() -> Check:
    x, w = np.arange(100, dtype=np.float32) % 7, np.arange(100, dtype=np.float32) % 5
    expected = (np.array([x @ w[::-1]]), np.array([100], np.int32))
    return Check((InputSet((x, w), expected, (0.0, 0.0), exact=True),))


def built(builder: LocalBuilder, kernel: Kernel) -> Artefact:
    result = builder.build([kernel])[0]
    assert result.artefact is not None, result
    return result.artefact


@pytest.mark.parametrize("threads", [1, 2])
def test_packed_constants_workspaces_and_several_outputs(
    threads: int, builder: LocalBuilder, runner: LocalRunner
) -> None:
    found = runner.measure(
        built(builder, packed_kernel()), packed_check(), replace(POLICY, threads=threads)
    )
    assert found.outcome in (Outcome.OK, Outcome.UNSTABLE), found
    assert found.timing is not None
    assert found.timing.threads == threads
    assert found.source_digest == packed_kernel().digest
    assert found.max_error == 0.0


def test_a_compile_error_carries_the_compilers_words(builder: LocalBuilder) -> None:
    bad, good = builder.build([doubling_kernel("return 1 +;"), doubling_kernel()])
    assert (bad.outcome, bad.artefact) == (Outcome.COMPILE_ERROR, None)
    assert "expected expression" in bad.error
    assert "return 1 +;" in bad.log
    assert good.outcome is Outcome.OK


def test_an_object_without_the_kernels_function_is_a_compile_error(builder: LocalBuilder) -> None:
    found = builder.build([replace(doubling_kernel(), source="int other;")])[0]
    assert found.outcome is Outcome.COMPILE_ERROR
    assert "k_r0" in found.error


def test_results_come_in_order(builder: LocalBuilder) -> None:
    kernels = [doubling_kernel(f"/* {i} */") for i in range(5)]
    found = builder.build(kernels)
    assert [r.artefact.kernel for r in found if r.artefact] == kernels


def test_the_build_leaves_no_file(toolchain: object, builder: LocalBuilder, tmp_path: Path) -> None:
    assert builder.command()[-4:] == ("-o", "kernel.so", "-shared", "-lm")
    assert not any("native" in part for part in builder.command())


TYPES = (
    np.float32,
    np.float64,
    np.float16,
    ml_dtypes.bfloat16,
    np.int8,
    np.uint8,
    np.int32,
    np.int64,
    np.bool_,
)


@pytest.mark.parametrize("dtype", TYPES, ids=lambda d: np.dtype(d).name)
def test_every_dtype_is_copied_and_compared(
    dtype: type, builder: LocalBuilder, runner: LocalRunner
) -> None:
    data = (np.arange(64) % 2).astype(dtype)
    name, size = data.dtype.name, data.dtype.itemsize
    body = f"for (int64_t i = first; i < last; i++) for (int k = 0; k < {size}; k++) ((char *)out[0])[i * {size} + k] = ((const char *)in[0])[i * {size} + k];"
    kernel = doubling_kernel(body, n_elements=64)
    kernel = replace(
        kernel, inputs=(BufferSpec("x", name, 64),), outputs=(BufferSpec("y", name, 64),)
    )
    right, wrong = (
        Check((InputSet((data,), (e,), (0.0,), exact=True),)) for e in (data, np.zeros(64, dtype))
    )
    artefact = built(builder, kernel)
    assert runner.measure(artefact, right, POLICY).timing is not None
    assert runner.measure(artefact, wrong, POLICY).outcome is Outcome.WRONG_RESULT


def test_tolerance_decides_between_ok_and_wrong(builder: LocalBuilder, runner: LocalRunner) -> None:
    artefact = built(builder, doubling_kernel())
    x = np.arange(1003, dtype=np.float32)
    off = (2 * x.astype(np.float64) + 0.25,)
    loose, tight = (Check((InputSet((x,), off, (t,)),)) for t in (0.3, 0.2))
    found = runner.measure(artefact, loose, POLICY)
    assert (found.timing is not None, found.max_error) == (True, 0.25)
    assert runner.measure(artefact, tight, POLICY).outcome is Outcome.WRONG_RESULT


def test_a_check_that_does_not_fit_is_our_bug(builder: LocalBuilder, runner: LocalRunner) -> None:
    with pytest.raises(ValueError, match="1003 elements, the check has 5"):
        runner.measure(built(builder, doubling_kernel()), doubling_check(5), POLICY)


def test_more_threads_than_cpus_is_refused(builder: LocalBuilder, runner: LocalRunner) -> None:
    with pytest.raises(InvalidInput, match="threads"):
        runner.measure(
            built(builder, doubling_kernel()), doubling_check(), replace(POLICY, threads=9999)
        )


def test_buffers_beyond_the_memory_limit_are_not_even_tried(
    builder: LocalBuilder, runner: LocalRunner
) -> None:
    kernel = replace(doubling_kernel(), workspaces=(BufferSpec("s", "float32", 1 << 40),))
    found = runner.measure(Artefact(kernel, b"", ()), doubling_check(), POLICY)
    assert found.outcome is Outcome.OUT_OF_MEMORY


def test_empty_arrays_are_fine(builder: LocalBuilder, runner: LocalRunner) -> None:
    found = runner.measure(built(builder, doubling_kernel(n_elements=0)), doubling_check(0), POLICY)
    assert found.timing is not None


def test_side_by_side_times_every_contender(builder: LocalBuilder, runner: LocalRunner) -> None:
    slow = "for (volatile int i = 0; i < 300000; i++); const float *x = in[0]; float *y = out[0]; for (int64_t i = first; i < last; i++) y[i] = 2 * x[i];"
    artefacts = [built(builder, doubling_kernel(slow)), built(builder, doubling_kernel())]
    found = runner.side_by_side(artefacts, doubling_check().sets[0], POLICY)
    assert found[0] is not None
    assert found[1] is not None
    assert found[0].median_seconds > 2 * found[1].median_seconds


def test_finished_runs_are_in_the_journal(
    builder: LocalBuilder, library: Path, tmp_path: Path
) -> None:
    path = tmp_path / "runs.jsonl"
    artefacts = [built(builder, k) for k in (doubling_kernel(), doubling_kernel("return;"))]
    rng, begun = np.random.default_rng(0), now_seconds()
    with LocalRunner(library, rng, journal=path, device="host/cpu") as runner:
        for artefact in artefacts:
            runner.measure(artefact, doubling_check(), POLICY)
    lines = read_lines(path)
    assert [line["digest"] for line in lines] == [
        doubling_kernel().digest,
        doubling_kernel("return;").digest,
    ]
    assert "fault" in lines[1]["result"]
    times = [t for line in lines for t in (line["begun"], line["ended"])]
    assert times == sorted(times), "one after the other"
    assert begun < times[0] < times[-1] < now_seconds()
    assert {line["device"] for line in lines} == {"host/cpu"}
    kept = [(objects_folder(path) / o).read_bytes() for line in lines for o in line["objects"]]
    assert kept == [a.shared_object for a in artefacts]


def test_a_time_no_machine_can_reach_is_not_believed(builder: LocalBuilder, library: Path) -> None:
    slow_machine = Calibration((ThreadCalibration(1, 1e3, (MemoryLevel("DRAM", 1 << 62, 1e3),)),))
    with LocalRunner(library, np.random.default_rng(0)) as runner:
        runner.believe(slow_machine)
        found = runner.measure(built(builder, doubling_kernel()), doubling_check(), POLICY)
        assert found.outcome is Outcome.UNSTABLE
        assert "faster than" in found.error


def test_a_doubted_calibration_gets_a_second_look(builder: LocalBuilder, library: Path) -> None:
    slow, fast = (
        Calibration((ThreadCalibration(1, f, (MemoryLevel("L1", 1 << 62, f),)),))
        for f in (1e3, 1e15)
    )
    with LocalRunner(library, np.random.default_rng(0)) as runner:
        runner.believe(slow, lambda: fast)
        found = runner.measure(built(builder, doubling_kernel()), doubling_check(), POLICY)
        assert "faster than" not in found.error


def test_calibration_kernels_are_right(
    builder: LocalBuilder, runner: LocalRunner, host: Target
) -> None:
    peak, peak_check = peak_kernel(host, 2)
    reader, reader_check, read_bytes = bandwidth_kernel(host, 2, 32 << 10)
    assert read_bytes >= 32 << 9
    for kernel, check in ((peak, peak_check), (reader, reader_check)):
        assert runner.measure(built(builder, kernel), check, POLICY).timing is not None
