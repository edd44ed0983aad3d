"""What a worker says of the software it runs: whoever uses its devices must run the same."""

from __future__ import annotations

import platform
from pathlib import Path

from autosched.entry.product_version import product_version
from autosched.entry.space_version import SPACE_VERSION

PROTOCOL = "1"
"""Of the calls to the actors of a cluster (see `autosched_workers.cluster.actors`)."""


DRIVER_FILE = Path("/sys/module/nvidia/version")


def driver_version(file: Path = DRIVER_FILE) -> str | None:
    """Of this host's GPUs, as the kernel has it loaded; None: it has none."""
    try:
        return file.read_text().strip() or None
    except OSError:
        return None


def versions() -> dict[str, str]:
    return {
        "autosched": product_version(),
        "space": SPACE_VERSION,
        "protocol": PROTOCOL,
        "python": platform.python_version(),
    }
