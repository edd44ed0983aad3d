"""The API on this host: `python -m autosched_api [--db URL] [--host H] [--port P]`; `--help` lists the rest.

The database may be named by AUTOSCHED_DB instead.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from pydantic import ValidationError
from pydantic_settings import CliApp

from autosched.entry.service_log import open_log
from autosched.errors import AutoschedError
from autosched.measure import linux
from autosched_api.app import create_app
from autosched_api.server import serve
from autosched_api.settings import Settings


def main(arguments: list[str]) -> int:
    try:
        # A URL may hold a password, which arguments show to everybody on the host.
        named: dict[str, Any] = (
            {"db": os.environ["AUTOSCHED_DB"]} if "AUTOSCHED_DB" in os.environ else {}
        )
        settings = CliApp.run(Settings, cli_args=arguments, **named)
    except ValidationError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    log = open_log()
    linux.share_heaps(1)
    try:
        app = create_app(settings, log=log)
    except AutoschedError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0 if serve(app, settings, log) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
