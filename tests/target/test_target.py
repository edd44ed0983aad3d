"""What a machine is said to be, and what is said when two of them differ."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from autosched.errors import InvalidInput
from autosched.target.compare import differences, obstacles
from autosched.target.detect import cache_bytes, detect_target, physical_cores
from autosched.target.features import (
    FEATURES,
    VECTOR_UNITS,
    feature_flags,
    known_features,
    vector_unit,
)
from autosched.target.files import (
    load_target,
    parse_target,
    resolve_target,
    target_names,
    target_text,
)
from autosched.target.toolchain import compiler_flags, find_toolchain


def _machine(root: Path, cpus: dict[int, str], l3_shared: dict[int, str]) -> Path:
    """A /sys tree: CPU -> siblings list, CPU -> CPUs that share its L3 slice."""
    for cpu, siblings in cpus.items():
        base = root / f"devices/system/cpu/cpu{cpu}"
        (base / "topology").mkdir(parents=True)
        (base / "topology/thread_siblings_list").write_text(siblings + "\n")
        (base / "topology/physical_package_id").write_text("0\n")
        caches = [("1", "Data", "48K", siblings), ("1", "Instruction", "32K", siblings)]
        caches += [("2", "Unified", "2M", siblings), ("3", "Unified", "16384K", l3_shared[cpu])]
        for index, (level, kind, size, shared) in enumerate(caches):
            entry = base / f"cache/index{index}"
            entry.mkdir(parents=True)
            for name, text in (
                ("level", level),
                ("type", kind),
                ("size", size),
                ("shared_cpu_list", shared),
            ):
                (entry / name).write_text(text + "\n")
    return root


def test_physical_cores_are_one_cpu_of_each_sibling_pair(tmp_path: Path) -> None:
    siblings = {0: "0,2", 1: "1,3", 2: "0,2", 3: "1,3"}
    root = _machine(tmp_path, siblings, dict.fromkeys(siblings, "0-3"))
    assert physical_cores([0, 1, 2, 3], root) == [0, 1]
    assert physical_cores([2, 3], root) == [2, 3]


def test_l3_is_summed_over_the_slices_of_the_package(tmp_path: Path) -> None:
    siblings = {0: "0", 1: "1", 2: "2", 3: "3"}
    root = _machine(tmp_path, siblings, {0: "0-1", 1: "0-1", 2: "2-3", 3: "2-3"})
    assert cache_bytes(0, range(4), root) == (48 << 10, 2 << 20, 32 << 20)
    assert cache_bytes(0, [0, 1], root) == (48 << 10, 2 << 20, 16 << 20)


def test_missing_cache_files_fall_back_to_positive_sizes(tmp_path: Path) -> None:
    assert all(size > 0 for size in cache_bytes(0, [0], tmp_path))


def test_host_is_consistent_and_survives_text() -> None:
    host = detect_target()
    assert vector_unit(host.isa, host.features).vector_bytes == host.vector_bytes
    assert parse_target(target_text(host), "host") == host
    assert resolve_target("host", 1) == replace(host, threads=1)


@pytest.mark.parametrize("threads", [0, -1, 1 << 20])
def test_host_refuses_threads_it_has_not(threads: int) -> None:
    with pytest.raises(InvalidInput, match="threads"):
        detect_target(threads)


@pytest.mark.parametrize("name", target_names())
def test_shipped_targets_agree_with_the_feature_table(name: str) -> None:
    target = load_target(name)
    unit = vector_unit(target.isa, target.features)
    assert (target.vector_bytes, target.vector_registers) == (
        unit.vector_bytes,
        unit.vector_registers,
    )
    assert not any("native" in flag for flag in compiler_flags(target))


def test_shipped_targets_have_distinct_keys() -> None:
    assert len({load_target(name).key for name in target_names()}) == len(target_names())


@pytest.mark.parametrize("isa", sorted(FEATURES))
def test_every_feature_has_its_own_flag(isa: str) -> None:
    names = [f.name for f in FEATURES[isa]]
    everything = feature_flags(isa, names)
    for name in names:
        flag = next(f.flag for f in FEATURES[isa] if f.name == name)
        assert flag in " ".join(everything)
    assert [u.vector_bytes for u in VECTOR_UNITS[isa]] == sorted(
        (u.vector_bytes for u in VECTOR_UNITS[isa]), reverse=True
    )


def test_linux_feature_names_become_ours() -> None:
    assert known_features("aarch64", ["asimd", "asimddp", "crc32"]) == ("dotprod", "neon")


BAD_FILES = [
    ("[1]", "must be a JSON object"),
    ("{", "is not JSON"),
    ('{"kind": "cpu"}', "missing fields"),
    ({"threads": 0}, "threads must be a whole number"),
    ({"threads": True}, "threads must be a whole number"),
    ({"isa": "mips"}, "isa 'mips'"),
    ({"kind": "tpu"}, "kind 'tpu'"),
    ({"features": ["mmx9"]}, "mmx9"),
    ({"features": "avx2"}, "list of names"),
    ({"core_kind": "x; rm"}, "core_kind"),
    ({"colour": 1}, "colour"),
]


@pytest.mark.parametrize(("change", "message"), BAD_FILES)
def test_a_bad_target_file_is_refused_by_name_and_rule(
    change: object, message: str, tmp_path: Path
) -> None:
    base = json.loads(target_text(load_target("znver3")))
    path = tmp_path / "mine.json"
    path.write_text(change if isinstance(change, str) else json.dumps({**base, **change}))  # type: ignore[dict-item]
    with pytest.raises(InvalidInput, match=message) as caught:
        resolve_target(str(path))
    assert "mine.json" in str(caught.value)


def test_an_unknown_target_lists_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match="znver3"):
        resolve_target("no-such-machine")


def test_differences_name_each_field() -> None:
    need, have = (
        load_target("znver3"),
        replace(load_target("znver3"), threads=2, features=("avx2", "fma")),
    )
    assert [d.split(":")[0] for d in differences(need, have)] == ["features", "threads"]
    assert "threads: need 8, have 2" in differences(need, have)
    assert differences(need, need) == []


def test_only_what_cannot_run_is_an_obstacle() -> None:
    avx512, avx2 = load_target("x86-64-avx512"), load_target("x86-64-avx2")
    assert obstacles(avx2, avx512) == []
    assert "avx512f" in obstacles(avx512, avx2)[0]
    assert obstacles(load_target("aarch64-neon"), avx2) == ["isa: need 'aarch64', have 'x86-64'"]


def test_the_host_has_a_toolchain_and_its_key_is_about_code_alone() -> None:
    toolchain = find_toolchain(detect_target())
    assert toolchain.key == replace(toolchain, command=("/elsewhere/cc",)).key
    assert toolchain.key != replace(toolchain, version="0.0.1").key


@pytest.mark.parametrize("name", target_names())
def test_the_fallback_compiler_takes_the_flags_of_every_target(name: str) -> None:
    toolchain = find_toolchain(load_target(name), "zig")
    assert toolchain.name == "zig"
    assert all(f in " ".join(toolchain.flags) for f in ("-ffp-contract=fast", "-target"))


def test_a_compiler_that_is_not_there_or_not_one_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no such program"):
        find_toolchain(detect_target(), "no-such-compiler")
    with pytest.raises(InvalidInput, match="false"):
        find_toolchain(detect_target(), "false")


@pytest.mark.parametrize("call", [1, 2, 3])
def test_a_compiler_that_is_killed_has_refused_nothing(tmp_path: Path, call: int) -> None:
    calls, gcc = tmp_path / "calls", tmp_path / "gcc"
    gcc.write_text(
        f'#!/bin/sh\necho >> {calls}\n[ "$(wc -l < {calls})" = {call} ] && kill -9 $$\nexec gcc "$@"\n'
    )
    gcc.chmod(0o755)
    assert (
        find_toolchain(detect_target(), str(gcc)).key == find_toolchain(detect_target(), "gcc").key
    )
