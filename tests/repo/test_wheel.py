"""A built wheel brings the whole product and no generic top-level name."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(folder),
        str(ROOT),
    ]
    subprocess.run(command, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


def names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_top_level_names_are_ours(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in names(wheel) if ".dist-info/" not in name}
    assert tops == {"autosched", "autosched_api", "autosched_workers"}


def test_every_tracked_file_of_the_package_is_inside(wheel: Path) -> None:
    inside = set(names(wheel))
    sources = {str(p.relative_to(ROOT)) for p in (ROOT / "autosched").rglob("*.py")}
    assert sources <= inside
    assert any(name.endswith("METADATA") for name in inside)


def test_migrations_travel_with_the_package(wheel: Path) -> None:
    migrations = {p.name for p in (ROOT / "migrations").rglob("*.py")}
    inside = {Path(n).name for n in names(wheel) if n.startswith("autosched/migrations/")}
    assert migrations <= inside


def test_the_wheel_imports_on_its_own(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    script = "import autosched, autosched_api, autosched_workers; print(autosched.__file__)"
    environment = {"PYTHONPATH": str(tmp_path), "PATH": ""}
    # -P keeps the working directory off the path; the wheel's folder then stands before the checkout.
    done = subprocess.run(
        [sys.executable, "-P", "-c", script],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(tmp_path))
