"""What a machine reaches, as data: peak operations a second and bandwidth of each memory level, and the roofline drawn
from them. Measured by `measure.calibrate`; never part of a key, since it changes no code.

Source: Williams, Waterman, Patterson, "Roofline", CACM 2009.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

DISBELIEF = 1.15
"""A time shorter than the least one by more than this factor is not believed."""


@dataclass(frozen=True)
class MemoryLevel:
    """`n_bytes`: the working set it holds for all threads together; `bytes_per_second`: read bandwidth."""

    name: str
    n_bytes: int
    bytes_per_second: float


@dataclass(frozen=True)
class ThreadCalibration:
    """With `threads` threads: float32 operations a second (a fused multiply-add is two), levels from the nearest."""

    threads: int
    operations_per_second: float
    levels: tuple[MemoryLevel, ...]


@dataclass(frozen=True)
class Calibration:
    """By thread count, ascending."""

    entries: tuple[ThreadCalibration, ...]

    def of(self, threads: int) -> ThreadCalibration:
        """The entry of this thread count; else the nearest one above, or the largest scaled in proportion."""
        for entry in self.entries:
            if entry.threads >= threads:
                return entry
        last = self.entries[-1]
        factor = threads / last.threads
        levels = tuple(
            MemoryLevel(v.name, v.n_bytes, v.bytes_per_second * factor) for v in last.levels
        )
        return ThreadCalibration(threads, last.operations_per_second * factor, levels)


def roofline_seconds(
    operations: float, compulsory_bytes: float, calibration: Calibration, threads: int
) -> float:
    """The larger of operations over peak, and compulsory bytes over the bandwidth of the smallest memory level that
    holds them."""
    entry = calibration.of(threads)
    level = next((v for v in entry.levels if v.n_bytes >= compulsory_bytes), entry.levels[-1])
    return max(operations / entry.operations_per_second, compulsory_bytes / level.bytes_per_second)


def least_seconds(
    operations: float,
    output_bytes: float,
    narrowest_bytes: int,
    calibration: Calibration,
    threads: int,
) -> float:
    """No honest time is shorter: the operations at peak, for the narrowest type, and the outputs at the bandwidth of
    the nearest memory, both with a margin."""
    entry = calibration.of(threads)
    peak = entry.operations_per_second * max(1.0, 4 / narrowest_bytes)
    nearest = max(v.bytes_per_second for v in entry.levels)
    return max(operations / peak, output_bytes / nearest) / DISBELIEF


def calibration_values(calibration: Calibration) -> dict[str, float]:
    """As flat named numbers, for storing beside a target."""
    values: dict[str, float] = {}
    for entry in calibration.entries:
        values[f"operations_per_second.{entry.threads}"] = entry.operations_per_second
        for level in entry.levels:
            values[f"bytes_per_second.{level.name}.{entry.threads}"] = level.bytes_per_second
    return values


def merge(first: Calibration, second: Calibration) -> Calibration:
    """The best value seen of each kind: whatever disturbs a measurement makes it smaller."""
    by_threads = {e.threads: e for e in first.entries}
    for entry in second.entries:
        old = by_threads.get(entry.threads)
        by_threads[entry.threads] = _better(old, entry) if old else entry
    return Calibration(tuple(by_threads[t] for t in sorted(by_threads)))


def _better(a: ThreadCalibration, b: ThreadCalibration) -> ThreadCalibration:
    old = {v.name: v.bytes_per_second for v in a.levels}
    levels = tuple(
        MemoryLevel(v.name, v.n_bytes, max(v.bytes_per_second, old.get(v.name, 0.0)))
        for v in b.levels
    )
    return ThreadCalibration(
        b.threads, max(a.operations_per_second, b.operations_per_second), levels
    )


def calibration_text(calibration: Calibration) -> str:
    """JSON that `parse_calibration` reads back."""
    return json.dumps(asdict(calibration))


def parse_calibration(text: str) -> Calibration:
    """Raises ValueError, KeyError or TypeError if the text is not a calibration."""
    entries: Sequence[dict[str, object]] = json.loads(text)["entries"]
    return Calibration(tuple(_entry(e) for e in entries))


def _entry(data: dict[str, object]) -> ThreadCalibration:
    levels = data["levels"]
    assert isinstance(levels, list)
    parsed = tuple(
        MemoryLevel(str(v["name"]), int(v["n_bytes"]), float(v["bytes_per_second"])) for v in levels
    )
    return ThreadCalibration(
        int(str(data["threads"])), float(str(data["operations_per_second"])), parsed
    )
