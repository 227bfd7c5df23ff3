"""What must hold before anything is started, and how to mend what does not."""

import errno
import os
import shutil
import socket
import subprocess

from config.supervision.console import Console

INSTALL_BUBBLEWRAP = ["apt-get", "install", "-y", "-q", "bubblewrap"]
PORTS_TO_TRY = 50


class NotReadyError(Exception):
    """The product cannot start; the message says why and what to do."""


def check_port(host: str, port: int) -> None:
    """Raise NotReadyError when the address cannot be listened on."""
    try:
        _listen_once(host, port)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise NotReadyError(
                f"Cannot listen on {host}:{port}: {error.strerror}. Choose another address with "
                "HOST=… and PORT=…"
            ) from error
        raise NotReadyError(
            f"Port {port} is in use by another program. Stop that program, or choose another "
            f"port: PORT={_free_port_after(host, port)} make run"
        ) from error
    except OverflowError as error:
        raise NotReadyError(f"PORT={port} is no port: choose one from 1 to 65535.") from error


def provide_bubblewrap(console: Console) -> None:
    """Install bubblewrap when it is missing and this may be done without asking; else say how."""
    if shutil.which("bwrap"):
        return
    prefix = _root_prefix()
    if prefix is None or shutil.which("apt-get") is None:
        console.say(
            "bubblewrap is not installed: tools from packages answer `sandbox_unavailable` until "
            "it is; the rest works. Install it with: sudo apt-get install bubblewrap"
        )
        return
    console.say(f"Installing bubblewrap, which isolates tools: {' '.join(INSTALL_BUBBLEWRAP)}")
    if not (_quietly([*prefix, *INSTALL_BUBBLEWRAP]) or _install_after_update(prefix)):
        console.say(
            "bubblewrap could not be installed: tools from packages answer `sandbox_unavailable`. "
            f"Try it by hand: sudo {' '.join(INSTALL_BUBBLEWRAP)}"
        )


def provide_deno(console: Console) -> None:
    """Say so when Deno, which runs JavaScript tools, is missing."""
    from deno import find_deno_bin

    try:
        find_deno_bin()
    except FileNotFoundError:
        console.say(
            "Deno is missing from the virtual environment: JavaScript tools cannot run. "
            "Mend it with: make clean venv"
        )


def _install_after_update(prefix: list[str]) -> bool:
    return _quietly([*prefix, "apt-get", "update", "-q"]) and _quietly(
        [*prefix, *INSTALL_BUBBLEWRAP]
    )


def _root_prefix() -> list[str] | None:
    """Return what makes a command run as root without a question, or None."""
    if os.geteuid() == 0:
        return []
    sudo = ["sudo", "-n"]
    return sudo if shutil.which("sudo") and _quietly([*sudo, "true"]) else None


def _quietly(command: list[str]) -> bool:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(command, capture_output=True, check=False, env=environment)
    return done.returncode == 0


def _listen_once(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(1)


def _free_port_after(host: str, port: int) -> int:
    for candidate in range(port + 1, min(port + PORTS_TO_TRY, 65536)):
        try:
            _listen_once(host, candidate)
        except OSError:
            continue
        return candidate
    return port + 1000 if port < 64000 else port - 1000  # noqa: PLR2004 -- any other port
