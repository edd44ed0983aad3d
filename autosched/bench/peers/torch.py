"""PyTorch: the fastest of eager, eager channels-last and torch.compile with freezing, in inference mode."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch

from autosched.bench.form import (
    Convolution,
    Form,
    MatrixProduct,
    Norm,
    Scores,
    Softmax,
    random_array,
)
from autosched.bench.subject import CaseSubject, Prepared, Subject

TRIAL_SECONDS = 0.1
CHANNELS_LAST = {4: torch.channels_last, 5: torch.channels_last_3d}
CONVOLUTIONS = {
    (3, False): torch.nn.Conv1d,
    (4, False): torch.nn.Conv2d,
    (5, False): torch.nn.Conv3d,
    (3, True): torch.nn.ConvTranspose1d,
    (4, True): torch.nn.ConvTranspose2d,
    (5, True): torch.nn.ConvTranspose3d,
}


def prepare(subject: Subject, threads: int) -> Prepared | None:
    """Tries every form for a moment and keeps the fastest."""
    if not isinstance(subject, CaseSubject):
        return None
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    module, inputs = module_of(subject.form)
    timed = {}
    for how, make in VARIANTS.items():
        run = make(module, inputs)
        if run is not None:
            timed[how] = (_seconds(run), run)
    how = min(timed, key=lambda h: timed[h][0])
    return Prepared(run=timed[how][1], how=how)


def _eager(module: torch.nn.Module, inputs: tuple[Any, ...]) -> Callable[[], object]:
    def run() -> object:
        with torch.inference_mode():
            return module(*inputs)

    return run


def _channels_last(module: torch.nn.Module, inputs: tuple[Any, ...]) -> Callable[[], object] | None:
    layout = CHANNELS_LAST.get(inputs[0].dim())
    if layout is None or not any(True for _ in module.parameters()):
        return None
    import copy

    copied: Any = copy.deepcopy(module)
    converted = copied.to(memory_format=layout)
    return _eager(converted, tuple(x.to(memory_format=layout) for x in inputs))


def _compiled(module: torch.nn.Module, inputs: tuple[Any, ...]) -> Callable[[], object] | None:
    import torch._inductor.config as inductor

    inductor.freezing = True
    compiled = torch.compile(module, dynamic=False)
    try:
        compiled(*inputs)
    except Exception:  # the compiler's own failures are no result of ours
        return None

    def run() -> object:
        with torch.no_grad():
            return compiled(*inputs)

    return run


VARIANTS: dict[str, Callable[[torch.nn.Module, tuple[Any, ...]], Callable[[], object] | None]] = {
    "eager": _eager,
    "channels_last": _channels_last,
    "compile": _compiled,
}


def _seconds(run: Callable[[], object]) -> float:
    """The fastest call within a moment, after two to warm up."""
    run(), run()
    best, start = float("inf"), time.perf_counter()
    while time.perf_counter() - start < TRIAL_SECONDS:
        before = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - before)
    return best


class _Function(torch.nn.Module):
    """A function as a module, so that every form is compiled alike."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


def module_of(form: Form) -> tuple[torch.nn.Module, tuple[Any, ...]]:
    """The module of a form with its inputs; weights are parameters, hence constants."""
    match form:
        case Convolution():
            return _convolution(form), (_tensor(form.data, 1),)
        case MatrixProduct(left=left, right=right):
            return _Function(torch.matmul), (_tensor(left, 1), _tensor(right, 2))
        case Norm(data=data):
            dims = tuple(range(1, len(data)))
            return _Function(lambda x: torch.linalg.vector_norm(x, dim=dims)), (_tensor(data, 1),)
        case Softmax(data=data):
            return _Function(lambda x: torch.softmax(x, -1)), (_tensor(data, 1),)
        case Scores(operand=operand):
            return _Function(_scores), (_tensor(operand, 1), _tensor(operand, 2))


def _scores(query: Any, key: Any) -> Any:
    return torch.softmax(query.permute(0, 2, 1, 3) @ key.permute(0, 2, 3, 1), -1)


def _convolution(form: Convolution) -> torch.nn.Module:
    n_in = form.data[1]
    n_out = form.weight[1] if form.transposed else form.weight[0]
    layer = CONVOLUTIONS[len(form.data), form.transposed](
        n_in,
        n_out,
        form.weight[2:],
        stride=form.stride,
        padding=form.padding,
        dilation=form.dilation,
        groups=form.groups,
        bias=form.bias_and_relu,
    )
    layer.weight.copy_(_tensor(form.weight, 7))
    module = torch.nn.Sequential(layer, torch.nn.ReLU()) if form.bias_and_relu else layer
    return module.eval()


def _tensor(shape: tuple[int, ...], seed: int) -> Any:
    return torch.from_numpy(random_array(shape, seed))
