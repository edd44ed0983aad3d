"""The errors a caller can meet. Anything else that is raised is a bug and propagates."""

from __future__ import annotations


class AutoschedError(Exception):
    """Any error of this library that is not a bug."""


class InvalidInput(AutoschedError):
    """The user's input breaks a rule; the message names the object, the value and the rule."""


class StoreError(AutoschedError):
    """The database cannot answer now; the call may be repeated."""
