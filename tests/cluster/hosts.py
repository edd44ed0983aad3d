"""Hosts of a test: each a set of namespaces with its own processes, network, name, `/tmp`, `/dev/shm` and home.

    with new_network() as network:
        head, worker = network.host("head"), network.host("worker", cores=(0,))
        worker.run("hostname").stdout
        network.cut(worker)
        worker.end()

Hosts stand on two switches. The inner one joins all but the outsider; the outer one joins the outsider and those hosts
that publish ports, of which nothing else is to be had there: what a container engine makes of `ports:` and internal
networks. There is no way from one to the other, nor to the machine's own network.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from autosched.testing.ownership import is_alive, own_tag
from tests.api.process import ROOT
from tests.cluster.namespaces import WHOLE_HOST, Namespaces, new_namespaces
from tests.cluster.process import Running, command_of

PREFIX = "hosts-"
INSIDE, OUTSIDE = "inside", "outside"
SUBNETS = {INSIDE: "10.77.0", OUTSIDE: "10.78.0"}
LINKS = {INSIDE: "eth0", OUTSIDE: "eth1"}
OUTSIDER = "outsider"
HOME = "/tmp/home"
NAMES = Path("/etc/hosts")
PATH = (
    str(Path(sys.executable).parent),
    "/usr/local/bin",
    "/usr/bin",
    "/bin",
    "/usr/sbin",
    "/sbin",
)


def environment() -> dict[str, str]:
    """All that a command on a host is told besides what its test tells it."""
    return {
        "PATH": os.pathsep.join(PATH),
        "HOME": HOME,
        "LANG": "C.UTF-8",
        "PYTHONPATH": os.pathsep.join(str(ROOT / root) for root in ("", "api", "workers")),
    }


@dataclass(eq=False)
class Host:
    """`folder` holds what outlives the host's end, as a disk does: `tmp`, and the logs of its commands. `publish`: the TCP
    ports that answer on the outer switch. `cores`: on which its commands run (None: on all). `cpuinfo`: the file that is
    its `/proc/cpuinfo`. `files`: others that it sees in place of the machine's."""

    name: str
    number: int
    switches: tuple[str, ...]
    network: Network
    publish: tuple[int, ...] = ()
    cores: tuple[int, ...] | None = None
    cpuinfo: Path | None = None
    files: Mapping[Path, Path] = field(default_factory=dict)
    """Place -> file."""
    _namespaces: Namespaces | None = None
    _started: list[Running] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        return self.network.folder / self.name

    @property
    def address(self) -> str:
        """On the first of its switches: the inner one, unless it is the outsider."""
        return self.address_on(self.switches[0])

    def address_on(self, switch: str) -> str:
        return f"{SUBNETS[switch]}.{self.number}"

    @property
    def is_up(self) -> bool:
        return self._namespaces is not None and self._namespaces.is_up

    @property
    def namespaces(self) -> Namespaces:
        if self._namespaces is None or not self._namespaces.is_up:
            raise RuntimeError(f"host {self.name} is not up")
        return self._namespaces

    def start(self) -> None:
        """Up, as after a reboot when it was up before: `/tmp` and the addresses are the same."""
        for name in ("tmp/home", "shm", "logs"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self.folder / "tmp").chmod(0o1777)
        spec = {
            "hostname": self.name,
            "own": [[str(self.folder / "tmp"), "/tmp"]],
            "memory": [[str(self.folder / "shm"), "/dev/shm"]],
            "files": [[str(file), str(place)] for place, file in self._files().items()],
            "keep": [str(path) for path in self.network.keep],
        }
        self._namespaces = new_namespaces(WHOLE_HOST, spec, self.folder / "init.log")
        for switch in self.switches:
            self.network.plug(self, switch)
        if len(self.switches) > 1:
            self._publish_alone()

    def _files(self) -> dict[Path, Path]:
        kinds = {Path("/proc/cpuinfo"): self.cpuinfo} if self.cpuinfo else {}
        return {NAMES: self.network.names, **kinds, **self.files}

    def _publish_alone(self) -> None:
        """Answers on the outer link at the published ports only. Programs for packet filters are installed in few places;
        rules of routing tell ports apart too: what is not published finds no way to this host's own addresses."""
        outer = ("iif", LINKS[OUTSIDE], "ipproto", "tcp")
        for port in self.publish:
            self.namespaces.ip(
                "rule", "add", "pref", "1", *outer, "dport", str(port), "table", "local"
            )
        self.namespaces.ip("rule", "add", "pref", "2", *outer, "prohibit")
        self.namespaces.ip("rule", "add", "pref", "3", "table", "local")
        self.namespaces.ip("rule", "del", "pref", "0")

    def end(self) -> None:
        """All its processes are killed; connections close, as the kernel does for the dead."""
        if self._namespaces is not None:
            self._namespaces.end()
        for running in self._started:
            running.entry.wait()
        self._started.clear()
        self.network.unplug(self)

    def lose_power(self) -> None:
        """All its processes are gone, and nobody hears of it: no connection closes."""
        self.network.cut(self)
        self.end()

    def enter(self) -> tuple[str, ...]:
        """What a command begins with to run on this host as it is up now; it ends with whoever started it."""
        within = (
            "nsenter",
            "-t",
            str(self.namespaces.init.pid),
            *["-m", "-p", "-u", "-i", "-n", "--"],
        )
        pinned = ("taskset", "-c", ",".join(map(str, self.cores))) if self.cores else ()
        return (*within, *pinned, "setpriv", "--pdeathsig", "KILL")

    def run(
        self,
        *command: str,
        env: Mapping[str, str] | None = None,
        seconds: float = 120.0,
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command to its end, by which its status must be 0 if `check`. What it leaves running may keep what it
        writes to: the answer does not wait for that."""
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            status = subprocess.run(
                [*self.enter(), *command],
                env={**environment(), **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                timeout=seconds,
            ).returncode
            out.seek(0)
            err.seek(0)
            done = subprocess.CompletedProcess(command, status, out.read(), err.read())
        if check and status:
            said = (done.stdout + done.stderr)[-3000:]
            raise AssertionError(f"{self.name}: {command[:4]} ended with {status}:\n{said}")
        return done

    def popen(
        self, *command: str, env: Mapping[str, str] | None = None, log: str | None = None
    ) -> Running:
        """Starts a command; what it writes goes into a log of this name, after what is there already."""
        path = None if log is None else self.folder / "logs" / log
        with Path(path or os.devnull).open("ab") as sink:
            entry = subprocess.Popen(
                [*self.enter(), *command],
                env={**environment(), **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
            )
        running = Running(entry, command_of(entry), path)
        self._started.append(running)
        return running

    def processes(self) -> list[psutil.Process]:
        """All that runs on it but its first process, in namespaces below its own too, as seen from outside."""
        init = self.namespaces.init
        own = _pid_namespace(init.pid)
        return [p for p in psutil.process_iter() if p.pid != init.pid and _is_within(p, own)]


def _pid_namespace(pid: int) -> str:
    """ "" for a process that is gone or has ended."""
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return ""


def _is_within(process: psutil.Process, namespace: str) -> bool:
    """Whether a process or one above it is in a pid namespace: who left it for one below has its parent there."""
    with suppress(psutil.NoSuchProcess):
        above = [process, *process.parents()]
        return any(_pid_namespace(p.pid) == namespace for p in above)
    return False


@dataclass(eq=False)
class Network:
    """Two switches and the hosts on them. `shared`: a directory that every host sees by the same path, as does the test;
    `keep`: all such paths."""

    folder: Path
    keep: Sequence[Path]
    switches: Namespaces
    hosts: dict[str, Host] = field(default_factory=dict)

    @property
    def shared(self) -> Path:
        return self.folder / "s"

    def host(
        self,
        name: str,
        *,
        publish: tuple[int, ...] = (),
        cores: tuple[int, ...] | None = None,
        cpuinfo: Path | None = None,
        files: Mapping[Path, Path] | None = None,
    ) -> Host:
        """A new host, up; it has a link to the outer switch if it publishes ports there."""
        switches = (INSIDE, OUTSIDE) if publish else (INSIDE,)
        host = Host(name, self._next, switches, self, publish, cores, cpuinfo, files or {})
        return self._start(host)

    @property
    def names(self) -> Path:
        """By which hosts know each other, as containers do on a network of theirs."""
        return self.folder / "names"

    @property
    def outsider(self) -> Host:
        """The host that is on the outer switch alone."""
        return self.hosts.get(OUTSIDER) or self._start(Host(OUTSIDER, self._next, (OUTSIDE,), self))

    @property
    def _next(self) -> int:
        return len(self.hosts) + 1

    def _start(self, host: Host) -> Host:
        if host.name in self.hosts:
            raise ValueError(f"host {host.name}: there is one of this name")
        self.hosts[host.name] = host
        with self.names.open("a") as names:
            names.write(f"{host.address} {host.name}\n")
        host.start()
        return host

    def cut(self, host: Host, switch: str = INSIDE) -> None:
        """Takes the link between a host and a switch down: nothing gets through, and no connection is closed."""
        self.switches.ip("link", "set", _port(host, switch), "down")

    def heal(self, host: Host, switch: str = INSIDE) -> None:
        self.switches.ip("link", "set", _port(host, switch), "up")

    def plug(self, host: Host, switch: str) -> None:
        """Gives a host that came up its link to a switch, with its own address on both layers."""
        port, link, pid = _port(host, switch), LINKS[switch], str(host.namespaces.init.pid)
        mac = f"02:00:0a:{SUBNETS[switch].split('.')[1]}:00:{host.number:02x}"
        peer = ("peer", "name", link, "address", mac, "netns", pid)
        self.switches.ip("link", "add", port, "type", "veth", *peer)
        self.switches.ip("link", "set", port, "master", switch, "up")
        host.namespaces.ip("addr", "add", f"{host.address_on(switch)}/24", "dev", link)
        host.namespaces.ip("link", "set", link, "addrgenmode", "none", "up")

    def unplug(self, host: Host) -> None:
        """Takes away the links of a host that has ended, which the kernel does at its leisure."""
        for switch in host.switches:
            with suppress(RuntimeError):
                self.switches.ip("link", "del", _port(host, switch))

    def end(self) -> None:
        for host in self.hosts.values():
            host.end()
        self.switches.end()


def _port(host: Host, switch: str) -> str:
    """The switch's end of a link; the kernel holds names to 15 characters."""
    return f"{switch}{host.number}"


@contextmanager
def new_network(*keep: Path) -> Iterator[Network]:
    """Switches without hosts; at the end all hosts end and all they wrote is removed. `keep`: paths that hosts shall see
    besides this working copy, its Python and the shared directory, although they lie in `/tmp` or `/dev/shm`."""
    home = Path("/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir())
    _remove_left(home)
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{own_tag()}.", dir=home))
    try:
        folder.chmod(0o755)
        pythons = {Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).parent}
        network = Network(folder, [ROOT, *pythons, folder / "s", *keep], _new_switches(folder))
        network.shared.mkdir()
        network.names.write_text("127.0.0.1 localhost\n")
        try:
            yield network
        finally:
            network.end()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _new_switches(folder: Path) -> Namespaces:
    switches = new_namespaces(("--net",), {}, folder / "switches.log")
    for name in SUBNETS:
        switches.ip("link", "add", name, "type", "bridge")
        switches.ip("link", "set", name, "up")
    return switches


def _remove_left(home: Path) -> None:
    """Removes what a test process that was killed could not; its hosts ended with it."""
    for left in home.glob(f"{PREFIX}*"):
        tag = left.name.removeprefix(PREFIX).rpartition(".")[0]
        if not is_alive(tag):
            shutil.rmtree(left, ignore_errors=True)
