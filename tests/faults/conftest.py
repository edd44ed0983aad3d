"""The toolchain, pool, builder and runner of this machine, made once."""

from tests.measure.machine import builder, host, library, runner, toolchain

__all__ = ["builder", "host", "library", "runner", "toolchain"]
