"""`python -m autosched`: the command line."""

from __future__ import annotations

from autosched.cli.app import main

if __name__ == "__main__":
    main()
