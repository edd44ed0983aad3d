"""Kernels that misbehave: each gets its outcome by name, the runner lives on, and nothing is left behind."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from autosched.measure.build import LocalBuilder
from autosched.measure.protocol import Artefact, TimingPolicy
from autosched.measure.runner import LocalRunner
from autosched.records.outcome import Outcome
from autosched.testing.kernels import DOUBLE, N_TASKS, doubling_check, doubling_kernel

POLICY = TimingPolicy(threads=1, deadline_seconds=20.0, cap_seconds=0.005)
SHORT = replace(POLICY, deadline_seconds=1.0)
CHECK = doubling_check()


@dataclass(frozen=True)
class Fault:
    """`says`: a part of the error that a person reads."""

    name: str
    body: str
    outcome: Outcome
    says: str
    declarations: str = ""
    policy: TimingPolicy = POLICY


LAST = f"last == {N_TASKS}"

FAULTS = (
    Fault(
        "writes one past the end",
        f"{DOUBLE} if ({LAST}) y[last] = 0;",
        Outcome.CRASHED,
        "end of output 0 (y)",
    ),
    Fault(
        "writes one before the start",
        f"{DOUBLE} if (!first) y[-1] = 0;",
        Outcome.CRASHED,
        "output 0 (y)",
    ),
    Fault(
        "reads one past the end",
        f"{DOUBLE} if ({LAST}) {{ volatile const float *z = x; (void)z[last]; }}",
        Outcome.CRASHED,
        "end of input 0 (x)",
    ),
    Fault(
        "writes to its input",
        f"{DOUBLE} ((float *)x)[3] = 1;",
        Outcome.CRASHED,
        "input 0 (x), which it may only read",
    ),
    Fault(
        "writes past its scratch",
        "((char *)scratch)[0] = 1;",
        Outcome.CRASHED,
        "scratch of thread 0",
    ),
    Fault(
        "wrong in one element",
        f"{DOUBLE} if (!first) y[7] += 1;",
        Outcome.WRONG_RESULT,
        "1 of 1003 elements are wrong; element 7",
    ),
    Fault("returns at once", "return;", Outcome.WRONG_RESULT, "1003 of 1003 elements are wrong"),
    Fault(
        "loops", 'for (;;) __asm__ volatile("");', Outcome.RUN_DEADLINE, "within 1 s", policy=SHORT
    ),
    Fault(
        "steps on address 64",
        "*(volatile int *)64 = 0;",
        Outcome.CRASHED,
        "SIGSEGV at address 0x40",
    ),
    Fault("aborts", "abort();", Outcome.CRASHED, "SIGABRT", "void abort(void);"),
    Fault(
        "exits with status 0",
        "exit(0);",
        Outcome.CRASHED,
        "by itself with status 0",
        "void exit(int);",
    ),
    Fault(
        "leaves without a word",
        "_exit(0);",
        Outcome.CRASHED,
        "by itself with status 0",
        "void _exit(int);",
    ),
    Fault("divides by zero", "volatile int n = 5, z = 0; n = n / z;", Outcome.CRASHED, "SIGFPE"),
    Fault("kills its group", "kill(0, 9);", Outcome.CRASHED, "SIGKILL", "int kill(int, int);"),
    Fault(
        "asks for a terabyte",
        "volatile char *p = malloc(1ul << 40); p[0] = 1;",
        Outcome.OUT_OF_MEMORY,
        "memory",
        "void *malloc(unsigned long);",
    ),
    Fault(
        "eats memory",
        "for (;;) { volatile char *p = malloc(1 << 24); for (int i = 0; i < 1 << 24; i += 4096) p[i] = 1; }",
        Outcome.OUT_OF_MEMORY,
        "memory",
        "void *malloc(unsigned long);",
    ),
    Fault(
        "closes every file",
        "for (int i = 0; i < 99; i++) close(i);",
        Outcome.CRASHED,
        "",
        "int close(int);",
    ),
    Fault(
        "overflows the stack",
        "deep(0);",
        Outcome.CRASHED,
        "SIGSEGV",
        "int deep(int n) { volatile int a[999]; a[n % 999] = n; return deep(n + 1) + a[1]; }",
    ),
)


@pytest.fixture(scope="module")
def artefacts(builder: LocalBuilder) -> dict[str, Artefact]:
    builds = builder.build([doubling_kernel(f.body, f.declarations) for f in FAULTS])
    assert [b.outcome for b in builds] == [Outcome.OK] * len(FAULTS)
    return {f.name: b.artefact for f, b in zip(FAULTS, builds, strict=True) if b.artefact}


@pytest.fixture(scope="module")
def good(builder: LocalBuilder) -> Artefact:
    artefact = builder.build([doubling_kernel()])[0].artefact
    assert artefact is not None
    return artefact


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name)
def test_a_bad_kernel_gets_its_outcome_by_name(
    fault: Fault, artefacts: dict[str, Artefact], runner: LocalRunner
) -> None:
    found = runner.measure(artefacts[fault.name], CHECK, fault.policy)
    assert (found.outcome, found.timing) == (fault.outcome, None)
    assert fault.says in found.error


def test_the_runner_lives_on_after_every_fault(
    artefacts: dict[str, Artefact], good: Artefact, runner: LocalRunner
) -> None:
    for name in ("steps on address 64", "exits with status 0", "closes every file"):
        runner.measure(artefacts[name], CHECK, POLICY)
        assert runner.measure(good, CHECK, POLICY).timing is not None


TALKERS = (
    (
        "prints what looks like an answer",
        'for (int i = 0; i < 50; i++) puts("{\\"result\\": {}}"); fflush(0);',
        "int puts(const char *); int fflush(void *);",
    ),
    (
        "prints a megabyte",
        'for (int i = 0; i < 9999; i++) dprintf(2, "%0100d", i);',
        "int dprintf(int, const char *, ...);",
    ),
)


@pytest.mark.parametrize(("name", "noise", "declarations"), TALKERS, ids=[t[0] for t in TALKERS])
def test_a_kernel_that_prints_is_not_believed_but_measured(
    name: str, noise: str, declarations: str, builder: LocalBuilder, runner: LocalRunner
) -> None:
    body = f"{DOUBLE} if (!first) {{ {noise} }}"
    artefact = builder.build([doubling_kernel(body, declarations)])[0].artefact
    assert artefact is not None
    found = runner.measure(artefact, CHECK, POLICY)
    assert found.timing is not None
    assert len(found.log) <= 4000


def test_contenders_that_fail_are_left_out(
    artefacts: dict[str, Artefact], good: Artefact, runner: LocalRunner
) -> None:
    bad = [artefacts[n] for n in ("steps on address 64", "wrong in one element")]
    found = runner.side_by_side([bad[0], good, bad[1], good], CHECK.sets[0], POLICY)
    assert [t is not None for t in found] == [False, True, False, True]
