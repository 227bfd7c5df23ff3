"""What the person at the terminal reads: each line with the name of the process it comes from."""

import os
import subprocess
import sys
import threading
from typing import IO

WIDTH = 8
COLOURS = ("36", "35", "34", "33", "32", "96")
"""ANSI colour codes, given to the names in the order in which they appear."""


class Console:
    """Write whole lines to standard output from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._coloured = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        self._names: list[str] = []

    def say(self, line: str = "") -> None:
        """Write a line of the supervisor's own."""
        self._write(line)

    def line(self, name: str, line: str) -> None:
        """Write a line of the process `name`."""
        self._write(f"{self._prefix(name)} {line}")

    def follow(self, name: str, process: subprocess.Popen[bytes]) -> None:
        """Write everything that the process prints, until it closes its output."""
        if process.stdout is not None:
            pump = threading.Thread(target=self._pump, args=(name, process.stdout), daemon=True)
            pump.start()

    def _pump(self, name: str, output: IO[bytes]) -> None:
        for raw in output:
            if line := raw.decode(errors="replace").rstrip():
                self.line(name, line)

    def _prefix(self, name: str) -> str:
        label = f"{name:<{WIDTH}} |"
        if not self._coloured:
            return label
        if name not in self._names:
            self._names.append(name)
        colour = COLOURS[self._names.index(name) % len(COLOURS)]
        return f"\033[{colour}m{label}\033[0m"

    def _write(self, line: str) -> None:
        with self._lock:
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
