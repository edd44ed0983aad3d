"""Targets, toolchains and workloads in SQL: the data behind keys, and what was measured of a target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from autosched.db.chunks import chunks
from autosched.db.rows import Columns
from autosched.db.schema import CalibrationRow, TargetRow, ToolchainRow, WorkloadRow
from autosched.db.upsert import insert_new
from autosched.records.family import family_key
from autosched.records.rules import better_calibration, storable_json


def target_columns(key: str, fields: Mapping[str, Any]) -> Columns:
    return {
        "key": key,
        "kind": fields.get("kind", ""),
        "isa": fields.get("isa", ""),
        "core_kind": fields.get("core_kind", ""),
        "threads": fields.get("threads", 0),
        "fields": storable_json(dict(fields)),
    }


def toolchain_columns(key: str, fields: Mapping[str, Any]) -> Columns:
    return {"key": key, "fields": storable_json(dict(fields))}


def workload_columns(key: str, text: str) -> Columns:
    return {"key": key, "family_key": family_key(text), "text": text}


Keyed = type[TargetRow] | type[ToolchainRow] | type[WorkloadRow]


def insert_missing(connection: Connection, table: Keyed, rows: Sequence[Columns]) -> int:
    """Insert the rows whose keys are not there yet, and count them; the first data of a key stays."""
    keys = [row["key"] for row in rows]
    there: set[str] = set()
    for part in chunks(keys):
        there.update(connection.scalars(select(table.key).where(table.key.in_(part))))
    missing = [row for row in rows if row["key"] not in there]
    insert_new(connection, table, sorted(missing, key=lambda row: row["key"]))
    return len(missing)


def load_target(connection: Connection, key: str) -> Mapping[str, Any] | None:
    return connection.scalar(select(TargetRow.fields).where(TargetRow.key == key))


def load_targets(connection: Connection) -> dict[str, Mapping[str, Any]]:
    """By key."""
    rows = connection.execute(select(TargetRow.key, TargetRow.fields).order_by(TargetRow.key))
    return dict(rows.all())


def load_toolchain(connection: Connection, key: str) -> Mapping[str, Any] | None:
    return connection.scalar(select(ToolchainRow.fields).where(ToolchainRow.key == key))


def load_workload_text(connection: Connection, key: str) -> str | None:
    return connection.scalar(select(WorkloadRow.text).where(WorkloadRow.key == key))


def calibrate(
    connection: Connection, target_key: str, measured: Mapping[str, float]
) -> dict[str, float]:
    """The larger values stay."""
    better = better_calibration(load_calibration(connection, target_key), measured)
    connection.execute(delete(CalibrationRow).where(CalibrationRow.target_key == target_key))
    rows = [{"target_key": target_key, "name": n, "value": v} for n, v in better.items()]
    if rows:
        connection.execute(insert(CalibrationRow), rows)
    return better


def load_calibration(connection: Connection, target_key: str) -> dict[str, float]:
    wanted = select(CalibrationRow.name, CalibrationRow.value)
    rows = connection.execute(wanted.where(CalibrationRow.target_key == target_key))
    return dict(rows.all())
