"""Options and fixtures of the whole suite."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the golden files anew instead of comparing",
    )
    parser.addoption(
        "--differential-seed", type=int, default=1, help="seed of the random candidates"
    )


def pytest_report_header(config: pytest.Config) -> str:
    return f"differential seed: {config.getoption('--differential-seed')}"


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-golden"))
