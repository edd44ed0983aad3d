"""One worker a host: who comes second is told who is there, and how to end it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from autosched.entry.host_worker import hold_worker
from autosched.measure import device_lock
from autosched.measure.device_lock import DeviceBusy


def test_a_second_worker_is_told_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_lock, "FOLDER", tmp_path)
    said = f"a worker already runs on this host .process {os.getpid()}.; `autosched worker --drain` ends it"
    with hold_worker(), pytest.raises(DeviceBusy, match=said), hold_worker():
        pass
    with hold_worker():
        pass
