"""What the service is and can do: what `/v1/info`, `/v1/ops`, `/healthz` and `/readyz` answer."""

from __future__ import annotations

from pydantic import BaseModel


class InfoDocument(BaseModel):
    """Versions of the product, the API, the database's schema and the search space, and what one request may be."""

    version: str
    api_version: str
    schema_version: str
    space_version: str
    upload_bytes: int
    body_bytes: int
    authenticated: bool


class OperatorDocument(BaseModel):
    """An operator that a graph may hold. `kind`: `kernel` has a meaning in tensor expressions, `rewritten` becomes others
    on import, `compile_time` must follow from shapes and constants alone."""

    name: str
    kind: str
    opset: int


class OperatorsDocument(BaseModel):
    items: list[OperatorDocument]


class HealthDocument(BaseModel):
    """`status` is "ok"; anything else comes as a problem."""

    status: str
