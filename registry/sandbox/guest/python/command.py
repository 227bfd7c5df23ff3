"""Runs one command of a Python package inside the sandbox, as its console script would.

Started as `python -I -S -B command.py MODULE:FUNCTION NAME [ARGUMENT …]`; the package's folder is
`/pkg/site`. Its stdin and stdout are the caller's own.
"""

import sys
from importlib import import_module
from typing import Any

SITE = "/pkg/site"

if __name__ == "__main__":
    place, name, *arguments = sys.argv[1:]
    sys.path[:] = [path for path in sys.path if not path.startswith("/rt/")] + [SITE]
    sys.argv = [name, *arguments]
    module, _, function = place.partition(":")
    run: Any = import_module(module)
    for part in function.split("."):
        run = getattr(run, part)
    sys.exit(run())
