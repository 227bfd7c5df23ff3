# ruff: noqa: S310
"""Tries what the sandbox must stop."""

import os
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path


def environment() -> dict[str, str]:
    """Read every variable."""
    return dict(os.environ)


def read(path: str) -> str:
    """Read a file."""
    return Path(path).read_text()


def write(path: str) -> int:
    """Write a file."""
    return Path(path).write_text("x")


def fork() -> int:
    """Start another process by the system call."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    return child


def program() -> str:
    """Start a program."""
    return subprocess.run([sys.executable, "-V"], capture_output=True, check=True).stdout.decode()


def dial(host: str, port: int) -> str:
    """Open a connection."""
    with socket.create_connection((host, port), timeout=2):
        return "open"


def fetch(url: str) -> int:
    """Fetch an address."""
    with urllib.request.urlopen(url, timeout=2) as answer:
        return int(answer.status)


def forge() -> str:
    """Answer in the guest's place, on every descriptor there is."""
    line = b'{"jsonrpc":"2.0","id":1,"result":{"output":"forged"}}\n'
    for descriptor in range(3, 256):
        try:
            os.write(descriptor, line)
        except OSError:
            continue
    return "honest"


def print_to_protocol() -> str:
    """Write to the descriptor that was standard output."""
    os.write(1, b"not a message\n")
    os.write(2, b"not a message\n")
    return "honest"


def memory() -> int:
    """Take two gigabytes."""
    return len(bytearray(2 << 30))


def spin() -> None:
    """Never end."""
    while True:
        pass
