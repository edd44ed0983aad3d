"""The body of a simulated builder or runner: sleeps as long as it is told, notes that it did, answers.

Run as a script of its own, so that it starts in a moment and can be killed like the real ones:
`python -I -S process.py runner`. One JSON object a line in and out; "journal" names the file that "entry" goes to.
"""

import ctypes
import json
import os
import signal
import sys
import time

PR_SET_PDEATHSIG = 1


def main() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    for line in sys.stdin:
        request, begun = json.loads(line), time.monotonic()
        time.sleep(request["seconds"])
        if request.get("journal"):
            when = {"begun": begun, "ended": time.monotonic(), "at": time.time()}
            note(request["journal"], {**request["entry"], **when, "pid": os.getpid()})
        print("{}", flush=True)


def note(path: str, entry: dict[str, object]) -> None:
    """One line in one call, so that lines of two writers do not mix."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.write(file, json.dumps(entry).encode() + b"\n")
    os.close(file)


if __name__ == "__main__":
    main()
