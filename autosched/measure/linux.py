"""The few Linux calls that Python 3.11 lacks: process control and namespaces, through the C library."""

from __future__ import annotations

import ctypes
import os
import signal

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
M_ARENA_MAX = -8
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

_libc = ctypes.CDLL(None, use_errno=True)


def prctl(option: int, value: int) -> None:
    """Sets one property of this process; raises OSError where the kernel refuses."""
    if _libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        _raise("prctl")


def die_with_parent() -> None:
    """SIGKILL for this process when its parent ends."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def unshare(flags: int) -> bool:
    """Leaves the namespaces in `flags`; False where that is not permitted."""
    return bool(_libc.unshare(flags) == 0)


def map_pages(n_bytes: int, *, at_once: bool) -> int:
    """Address of fresh zeroed pages, all made `at_once` or each at its first touch. Raises MemoryError."""
    read_write, private_anonymous = 0x3, 0x22 | (0x8000 if at_once else 0)
    _libc.mmap.restype = ctypes.c_void_p
    _libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    address = _libc.mmap(None, n_bytes, read_write, private_anonymous, -1, 0)
    if address is None or address == ctypes.c_void_p(-1).value:
        raise MemoryError(f"{n_bytes} bytes: {os.strerror(ctypes.get_errno())}")
    return int(address)


def unmap_pages(address: int, n_bytes: int) -> None:
    _libc.munmap(ctypes.c_void_p(address), ctypes.c_size_t(n_bytes))


def protect(address: int, n_bytes: int, access: int) -> None:
    """`access`: 0 none, 1 read, 3 read and write; address and size are whole pages."""
    if n_bytes and _libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(n_bytes), access) != 0:
        _raise("mprotect")


def advise_huge_pages(address: int, n_bytes: int) -> None:
    """Asks for huge pages; hosts that have none refuse, which changes nothing."""
    _libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(n_bytes), 14)


def share_heaps(most: int) -> None:
    """Lets threads share so many heaps of the C library, which by itself gives many threads one each, and each keeps
    what it once needed. Libraries that have no such setting change nothing."""
    if hasattr(_libc, "mallopt"):
        _libc.mallopt(ctypes.c_int(M_ARENA_MAX), ctypes.c_int(most))


def _raise(call: str) -> None:
    number = ctypes.get_errno()
    raise OSError(number, f"{call}: {os.strerror(number)}")
