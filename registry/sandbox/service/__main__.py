"""Start the sandbox service: `python -m registry.sandbox.service --socket PATH --store DIR`."""

import argparse
import asyncio
import contextlib
import importlib
import logging.config
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

from config.lib.logs import formatters, log_format
from registry.sandbox.paths import choose_store, service_uid, short_address, socket_path
from registry.sandbox.service import cgroup
from registry.sandbox.service.capacity import capacity_of_operator
from registry.sandbox.service.engine import Engine
from registry.sandbox.service.interpreter import place_interpreter
from registry.sandbox.service.local import LocalRecipe, tools_folder
from registry.sandbox.service.npm import NpmRecipe, registry_of_operator
from registry.sandbox.service.pypi import PypiRecipe
from registry.sandbox.service.python import compile_guest
from registry.sandbox.service.python_index import index_of_operator
from registry.sandbox.service.recipes import Recipe
from registry.sandbox.service.server import serve
from registry.sandbox.service.store import lay_out
from registry.sandbox.service.uploads import UploadRecipe

# What the standard library imports on first use. The interpreter may lie in root's own folder,
# where nothing can be imported any more once root is given up.
IMPORTED_LATE = (
    *("concurrent.futures.thread", "encodings.ascii", "encodings.idna", "traceback"),
    # … and httpx, of the network below it.
    *("httpcore", "anyio", "anyio._backends._asyncio", "sniffio"),
)


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    """Read the command line; the defaults are those every other part of the product assumes."""
    parser = argparse.ArgumentParser(prog="sandboxd", description=__doc__)
    parser.add_argument("--socket", type=Path, default=socket_path(), help="unix socket to serve")
    parser.add_argument("--store", type=Path, default=None, help="folder of the built packages")
    parser.add_argument(
        "--allow-uid",
        type=int,
        action="append",
        default=[],
        help="another user who may connect (root, the starter and the service always may)",
    )
    return parser.parse_args(argv)


def listen(path: Path) -> socket.socket:
    """Open the socket; who may use it is decided by the peer's user id, not by its mode.

    Raises `SystemExit` when another service answers there already.
    """
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with short_address(path) as address:
        if path.exists():
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
                if probe.connect_ex(address) == 0:
                    sys.exit(f"sandboxd: another service already answers at {path}.")
            path.unlink()
        listener.bind(address)
    path.chmod(0o666)
    listener.listen()
    return listener


def drop_root(uid: int) -> None:
    """Become the unprivileged user for good: no sandbox is ever made by root."""
    for name in IMPORTED_LATE:
        importlib.import_module(name)
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    if os.getresuid() != (uid, uid, uid) or uid == 0:
        sys.exit("sandboxd: could not give up root, so nothing was started.")
    os.chdir("/")


def log_to_console() -> None:
    """Log in the form that the whole product logs in."""
    handlers = {"console": {"class": "logging.StreamHandler", "formatter": log_format()}}
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": formatters(),
            "handlers": handlers,
            "root": {"handlers": ["console"], "level": os.environ.get("LOG_LEVEL", "INFO")},
        }
    )


async def run(
    engine: Callable[[], Engine], listener: socket.socket, allowed: frozenset[int]
) -> None:
    """Serve until a signal to stop comes; the engine is made inside the loop."""
    serving = asyncio.create_task(serve(engine(), listener, allowed))
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, serving.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await serving


def main() -> None:
    """Prepare as whoever started it, give up root, serve."""
    log_to_console()
    options = arguments()
    starter, uid = os.getuid(), service_uid()
    store = (options.store or choose_store(uid=uid).path).resolve()
    os.umask(0o022)
    # First of all: a second service must not touch the store of the first.
    listener = listen(options.socket.absolute())
    lay_out(store, uid)
    place_interpreter(store, uid)
    compile_guest(store)
    # Read now: as the sandboxes' user some of these settings could not be read any more.
    index = index_of_operator()
    recipes: dict[str, Recipe] = {
        "npm": NpmRecipe(registry_of_operator()),
        "pypi": PypiRecipe(index),
        "local": LocalRecipe(index, tools_folder()),
        "upload": UploadRecipe(index, store),
    }
    capacity, cgroups = capacity_of_operator(), cgroup.delegate(uid)
    if starter == 0:
        drop_root(uid)
    allowed = frozenset({0, starter, uid, *options.allow_uid})
    asyncio.run(run(lambda: Engine(store, recipes, capacity, cgroups), listener, allowed))


if __name__ == "__main__":
    main()
