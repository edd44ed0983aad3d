"""What the loop asks of a search: the protocol that every policy of `autosched.search` follows."""

from __future__ import annotations

from autosched.search.proposal import Policy, Proposal

__all__ = ["Policy", "Proposal"]
