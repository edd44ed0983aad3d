"""What an API process is told: where to listen, which database, and how much anybody may ask of it.

All of it comes from whoever makes the settings, arguments of `python -m autosched_api` included.
"""

from __future__ import annotations

import ipaddress
from typing import Annotated

from pydantic import Field
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from autosched.jobs.queue import Quota

Positive = Annotated[int, Field(gt=0)]
Duration = Annotated[float, Field(gt=0)]


class Settings(BaseSettings):
    """Bytes and seconds stand in the names; each text goes on where its name ends."""

    model_config = SettingsConfigDict(
        extra="forbid",
        frozen=True,
        cli_kebab_case=True,
        cli_hide_none_type=True,
        cli_prog_name="python -m autosched_api",
    )

    host: str = Field("127.0.0.1", description="address to listen on")
    port: Annotated[int, Field(ge=0, le=65535)] = Field(
        8700, description="port to listen on; 0: any that is free"
    )
    db: str | None = Field(
        None,
        description="database URL, or path of a file; null: that of AUTOSCHED_DB, or else the user's own file",
    )
    allow_host: list[str] = Field(
        [],
        description="host names that clients may use beside the address and, on loopback, this host's own",
    )
    require_tokens: bool | None = Field(
        None, description="of every request; null: if the address is none of loopback"
    )

    head_bytes: Positive = Field(64 << 10, description="of a request's line and headers")
    head_seconds: Duration = Field(20.0, description="until the headers are there")
    body_seconds: Duration = Field(30.0, description="for a body, and one more per 4 KiB of it")
    upload_bytes: Positive = Field(512 << 20, description="of an uploaded model")
    body_bytes: Positive = Field(16 << 20, description="of any other body")
    spool: str | None = Field(
        None, description="folder of uploads under way; null: the system's own"
    )
    owner_jobs: Positive = Field(Quota.jobs, description="that an owner may have under way")
    owner_upload_bytes: Positive = Field(
        Quota.upload_bytes, description="of all models that an owner has under way"
    )
    owner_streams: Positive = Field(64, description="jobs that an owner may follow at once")
    streams: Positive = Field(512, description="jobs that may be followed at once")

    task_bytes: Positive = Field(2 << 30, description="of all tensors of one task of a job")
    queue_seconds: Duration = Field(86_400.0, description="for jobs whose target is away")
    import_processes: Positive = Field(2, description="that read models")
    import_waiting: Positive = Field(16, description="models that may wait to be read")
    import_seconds: Duration = Field(60.0, description="for reading a model")
    import_memory_bytes: Positive = Field(4 << 30, description="of a process that reads models")
    import_folded_bytes: Positive = Field(
        256 << 20, description="of constants that are computed while a model is read"
    )
    import_nodes: Positive = Field(20_000, description="of a model")

    store_threads: Positive = Field(8, description="that ask the database")
    store_waiting: Positive = Field(1_000, description="questions that may wait for the database")
    cache_seconds: Annotated[float, Field(ge=0, le=1)] = Field(
        1.0, description="how old a winner may be; 0 reads each anew"
    )
    cache_entries: Positive = Field(50_000, description="winners kept in memory")
    event_poll_seconds: Duration = Field(
        0.4, description="between looks for news of a job that is followed"
    )
    event_comment_seconds: Duration = Field(
        15.0, description="without news after which a stream says so"
    )
    event_stream_seconds: Duration = Field(3600.0, description="after which a client resumes")
    shutdown_seconds: Duration = Field(
        10.0, description="for what is under way, when the process is to end"
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)

    @property
    def is_loopback(self) -> bool:
        return is_loopback(self.host)

    @property
    def needs_tokens(self) -> bool:
        return not self.is_loopback if self.require_tokens is None else self.require_tokens

    @property
    def quota(self) -> Quota:
        return Quota(self.owner_jobs, self.owner_upload_bytes)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what is bound to the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
