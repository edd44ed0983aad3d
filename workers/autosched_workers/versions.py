"""What a worker says of the software it runs: whoever uses its devices must run the same."""

from __future__ import annotations

import platform

from autosched.entry.product_version import product_version
from autosched.entry.space_version import SPACE_VERSION

PROTOCOL = "1"
"""Of the calls to the actors of a cluster (see `autosched_workers.cluster.actors`)."""


def versions() -> dict[str, str]:
    return {
        "autosched": product_version(),
        "space": SPACE_VERSION,
        "protocol": PROTOCOL,
        "python": platform.python_version(),
    }
