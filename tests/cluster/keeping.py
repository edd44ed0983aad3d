"""Programs on hosts that are started again when they end, as an engine of containers does it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.cluster.hosts import Host
from tests.cluster.process import Running

PAUSE_SECONDS = 0.5


@dataclass(eq=False)
class Program:
    """`name` is that of its log too."""

    name: str
    host: Host
    command: tuple[str, ...]
    environment: Mapping[str, str]
    running: Running | None = None


@dataclass(eq=False)
class Keeper:
    """Keeps programs running until `stop`, wherever their hosts are up."""

    programs: dict[str, Program] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stopped: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def keep(self, program: Program) -> None:
        with self._lock:
            self.programs[program.name] = program
            self._look(program)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run)
            self._thread.start()

    def process(self, name: str) -> Running | None:
        """The program of this name, if it is up."""
        with self._lock:
            running = self.programs[name].running
        return running if running is not None and running.poll() is None else None

    def end_host(self, host: Host) -> None:
        """Ends a host whole; its programs stay down until it is started."""
        with self._lock:
            host.end()
            for program in self.programs.values():
                if program.host is host:
                    program.running = None

    def start_host(self, host: Host) -> None:
        with self._lock:
            host.start()

    def logs(self) -> str:
        """The ends of what the programs wrote."""
        with self._lock:
            texts = {p.name: p.running.text()[-3000:] for p in self.programs.values() if p.running}
        return "\n".join(f"== {name}\n{text}" for name, text in texts.items())

    def stop(self) -> None:
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(PAUSE_SECONDS):
            with self._lock:
                for program in self.programs.values():
                    self._look(program)

    def _look(self, program: Program) -> None:
        if not program.host.is_up:
            return
        if program.running is None or program.running.poll() is not None:
            program.running = program.host.popen(
                *program.command, env=program.environment, log=program.name
            )
