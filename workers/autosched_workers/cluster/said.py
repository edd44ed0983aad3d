"""What a process prints that has to do with Ray: pages of it, with advice that is not for us. It is kept aside for the one
line that says why the process ended."""

from __future__ import annotations

import os
import re
import tempfile

READ_BYTES = 1 << 16
ERROR = re.compile(r"^(?:[\w.]*(?:Error|Exception)|error): .*$", re.MULTILINE)


class Said:
    """A file without a name, gone with who made it."""

    def __init__(self) -> None:
        self.file = tempfile.TemporaryFile()  # noqa: SIM115 - as long as this

    def error(self) -> str:
        """The last one; "" if there is none."""
        end = self.file.seek(0, os.SEEK_END)
        self.file.seek(max(0, end - READ_BYTES))
        errors = ERROR.findall(self.file.read().decode(errors="replace"))
        return str(errors[-1]) if errors else ""
