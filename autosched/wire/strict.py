"""What requests are made of: models that refuse unknown fields, convert no value and take finite numbers only."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Request(BaseModel):
    """A request body."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
