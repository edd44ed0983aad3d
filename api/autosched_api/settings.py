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
    """Bytes and seconds stand in the names. `allow_host` are host names that clients may use beside the bound
    address and, on loopback, its own names; `require_tokens` null: as soon as the address is none of loopback."""

    model_config = SettingsConfigDict(
        extra="forbid", frozen=True, cli_kebab_case=True, cli_prog_name="python -m autosched_api"
    )

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8700
    db: str | None = Field(None, description="URL or path; the default is the user's own file")
    allow_host: list[str] = []
    require_tokens: bool | None = Field(None, description="null: if bound beyond loopback")

    head_bytes: Positive = Field(64 << 10, description="of a request's line and headers")
    head_seconds: Duration = Field(20.0, description="until the headers are there")
    body_seconds: Duration = Field(30.0, description="for a body, and one more per 4 KiB of it")
    upload_bytes: Positive = 512 << 20
    body_bytes: Positive = 16 << 20
    spool: str | None = Field(None, description="folder of uploads under way")
    owner_jobs: Positive = Quota.jobs
    owner_upload_bytes: Positive = Quota.upload_bytes
    owner_streams: Positive = 64
    streams: Positive = 512

    task_bytes: Positive = Field(2 << 30, description="of all tensors of one task of a job")
    queue_seconds: Duration = Field(86_400.0, description="for jobs whose target is away")
    import_processes: Positive = 2
    import_waiting: Positive = 16
    import_seconds: Duration = 60.0
    import_memory_bytes: Positive = 4 << 30
    import_folded_bytes: Positive = 256 << 20
    import_nodes: Positive = 20_000

    store_threads: Positive = 8
    store_waiting: Positive = 1_000
    cache_seconds: Annotated[float, Field(ge=0, le=1)] = Field(
        1.0, description="how old a winner may be; 0 reads each anew"
    )
    cache_entries: Positive = 50_000
    event_poll_seconds: Duration = 0.4
    event_comment_seconds: Duration = 15.0
    event_stream_seconds: Duration = Field(3600.0, description="after which a client resumes")
    shutdown_seconds: Duration = 10.0

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
