"""What a contender is asked to run, as JSON between processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from autosched.bench.form import Form, form_of


class CaseSubject(BaseModel):
    """A case of the suite: kind, batch and arguments."""

    what: Literal["case"] = "case"
    kind: str
    batch: int
    args: dict[str, int]

    @property
    def form(self) -> Form:
        return form_of(self.kind, self.batch, self.args)


class ModelSubject(BaseModel):
    """An ONNX file."""

    what: Literal["model"] = "model"
    path: str


class DirectorySubject(BaseModel):
    """A directory made by `build`."""

    what: Literal["directory"] = "directory"
    path: str


Subject = Annotated[CaseSubject | ModelSubject | DirectorySubject, Field(discriminator="what")]
"""What a contender may be asked to run; `what` tells which."""


class Prepared(BaseModel):
    """`run` does one call; `how` says which of its forms a library chose."""

    run: Callable[[], object]
    how: str = ""
