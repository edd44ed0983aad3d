"""Standard streams that the caller closed lead nowhere, so that no file opened later takes their numbers."""

from __future__ import annotations

import os
import sys


def open_closed_streams() -> None:
    """`autosched ... >&-`: what is written to a closed stream is dropped."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for name, number in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w", closefd=False))
