"""Runs one command of a Python package inside the sandbox, as its console script would.

Started as `python -I -S -B command.py MODULE:FUNCTION NAME [ARGUMENT …]`; the package's folder is
`/pkg/site`. Its stdin and stdout are the caller's own, but for the first line on stdin: `{env}`
from the sandbox service. So no value of a variable stands in the process's first environment, and
the command cannot begin before the service is ready for it. What it asks for in vain is told to
the service by `{method: "outfitter/wanted", params: {host} | {variable}}`.
"""

import json
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent))

from outfitter_guest.environment import watch_environment  # type: ignore[import-not-found]
from outfitter_guest.network import watch_network  # type: ignore[import-not-found]

sys.path.pop()

SITE = "/pkg/site"
OUT = sys.stdout.buffer


def first_line() -> bytes:
    """Read up to the first line feed and not a byte more: the rest is the command's own."""
    line = bytearray()
    while (byte := os.read(0, 1)) not in (b"", b"\n"):
        line += byte
    return bytes(line)


def tell(**wanted: str) -> None:
    """Tell the service, between two messages of the command."""
    message = {"jsonrpc": "2.0", "method": "outfitter/wanted", "params": wanted}
    OUT.write(json.dumps(message).encode() + b"\n")
    OUT.flush()


if __name__ == "__main__":
    for variable, value in json.loads(first_line())["env"].items():
        os.environ.setdefault(variable, value)
    watch_network(lambda host: tell(host=host))
    watch_environment(lambda name: tell(variable=name))
    place, name, *arguments = sys.argv[1:]
    sys.path[:] = [path for path in sys.path if not path.startswith("/rt/")] + [SITE]
    sys.argv = [name, *arguments]
    module, _, function = place.partition(":")
    run: Any = import_module(module)
    for part in function.split("."):
        run = getattr(run, part)
    sys.exit(run())
