"""When a result is stored: at once, or while the next candidate runs.

Storing costs a commit to the disk, as long as a short kernel's whole run. Where the device is not of these cores, the
device need not wait for it: one result may be on its way to the store while the next is measured. No more than one, so
that a death costs at most the run on the device and the one before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

Work = Callable[[], None]


@contextmanager
def storing(*, ahead: bool) -> Iterator[Callable[[Work], None]]:
    """What to hand each piece of storing to, in order; all of it is done at the end of the `with` block, and raises
    there or at the next piece."""
    if not ahead:
        yield lambda work: work()
        return
    last: list[Future[None]] = []

    def store(work: Work) -> None:
        if last:
            last.pop().result()
        last.append(thread.submit(work))

    with ThreadPoolExecutor(1) as thread:
        try:
            yield store
        finally:
            if last:
                last.pop().result()
