"""The contenders: each module makes a function without arguments that runs the case once.

`PEERS` names them; a module is imported in the contender's own process alone, so that no library meets another.
"""

from __future__ import annotations

PEERS: dict[str, str] = {
    "ours": "autosched.bench.peers.ours",
    "torch": "autosched.bench.peers.torch",
    "numpy": "autosched.bench.peers.numpy",
    "onnxruntime": "autosched.bench.peers.onnxruntime",
}
"""Name -> module with `prepare(subject, threads) -> Prepared | None`; None: the library has no such operator."""
