"""Boosted trees whose training does not depend on the number of threads.

XGBoost sums gradients in an order that threads decide, and floating-point sums depend on their order. Here gradients
are rounded to multiples of 2**-16 first: their sums are then exact in double precision, the same in any order, and so
are the trees. Objectives are therefore our own; trees, histograms and prediction are XGBoost's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import xgboost

Array = npt.NDArray[Any]
Gradient = Callable[[Array], tuple[Array, Array]]
"""Predictions [n] -> gradient and positive second derivative of the loss, [n] each."""

GRID = float(1 << 16)
LARGEST = 64.0


@dataclass(frozen=True)
class BoostingOptions:
    """Size and pace of the ensemble."""

    rounds: int = 100
    depth: int = 5
    rate: float = 0.15
    min_weight: float = 0.3
    bins: int = 64
    threads: int = 1


def fit(features: Array, gradient: Gradient, options: BoostingOptions) -> xgboost.Booster:
    """Trees that minimize a loss given by its gradient; float32 features [n, F]."""
    data = xgboost.DMatrix(features, label=np.zeros(len(features)), nthread=options.threads)

    def objective(predictions: Array, _: xgboost.DMatrix) -> tuple[Array, Array]:
        first, second = gradient(np.asarray(predictions, np.float64))
        return on_grid(first), np.maximum(on_grid(second), 1.0 / GRID)

    parameters = {
        "tree_method": "hist",
        "max_depth": options.depth,
        "eta": options.rate,
        "min_child_weight": options.min_weight,
        "lambda": 1.0,
        "max_bin": options.bins,
        "base_score": 0.0,
        "disable_default_eval_metric": True,
        "nthread": options.threads,
        "seed": 0,
        "verbosity": 0,
    }
    return xgboost.train(parameters, data, options.rounds, obj=objective)


def on_grid(values: Array) -> Array:
    """The nearest multiples of 2**-16 within +-64: exact in float32, with exact sums in float64."""
    return np.asarray(np.rint(np.clip(values, -LARGEST, LARGEST) * GRID) / GRID)


def predict(booster: xgboost.Booster, features: Array) -> Array:
    """Raw scores [n] of float32 features [n, F], in either memory order."""
    return np.asarray(booster.inplace_predict(features, predict_type="margin"))


def to_text(booster: xgboost.Booster) -> str:
    """The trees as XGBoost's JSON."""
    return booster.save_raw("json").decode()


def from_text(text: str, threads: int) -> xgboost.Booster:
    """The trees of `to_text`."""
    booster = xgboost.Booster({"nthread": threads})
    booster.load_model(bytearray(text.encode()))
    return booster
