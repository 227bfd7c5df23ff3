"""The line to the sandbox service, moved out of the way of the package's own output."""

import fcntl
import io
import json
import logging
import os
import sys
import threading
from collections.abc import Iterator
from typing import Any, Self, TextIO

MAX_LOG_CHARACTERS = 8_192
MAX_LOG_LINES = 10_000
MAX_MESSAGE_CHARACTERS = 4_000
HIGH_DESCRIPTOR = 200

TOOL_FAILED = -32000
IMPORT_FAILED = -32001
UNKNOWN_EXPORT = -32002
BAD_OUTPUT = -32003
BAD_INPUT = -32004
UNAVAILABLE = -32005
OUT_OF_MEMORY = -32006

LEVELS = ((logging.ERROR, "error"), (logging.WARNING, "warn"), (logging.INFO, "info"))


class Refusal(Exception):
    """An error answer with a code of its own; any other exception is the tool's failure."""

    def __init__(self, code: int, message: str) -> None:
        self.code = code
        super().__init__(message)


class Channel:
    """Reads requests from one descriptor and writes answers and log lines to another."""

    def __init__(self, source: int, target: int) -> None:
        self._requests = open(source, encoding="utf-8", newline="\n")  # noqa: SIM115 - for good
        self._target = target
        self._lock = threading.RLock()
        self._lines = 0

    @classmethod
    def take_over(cls) -> Self:
        """Take the protocol off descriptors 0 and 1, and turn the package's output into log lines.

        What native code writes to descriptor 1 goes to the error output.
        """
        source = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, HIGH_DESCRIPTOR)
        target = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, HIGH_DESCRIPTOR)
        nothing = os.open("/dev/null", os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        channel = cls(source, target)
        sys.stdin = io.StringIO()
        sys.stdout = _LogStream(channel, "log")
        sys.stderr = _LogStream(channel, "error")
        # Python keeps its first streams under these names; they must not be a way around.
        vars(sys).update(__stdout__=sys.stdout, __stderr__=sys.stderr, __stdin__=sys.stdin)
        logging.basicConfig(level=logging.INFO, handlers=[_LogHandler(channel)])
        return channel

    def requests(self) -> Iterator[dict[str, Any]]:
        """Yield the requests until the service closes the line."""
        for line in self._requests:
            yield json.loads(line)

    def send(self, message: dict[str, Any]) -> None:
        """Write one message; NaN and infinities raise ValueError."""
        text = json.dumps({"jsonrpc": "2.0", **message}, allow_nan=False, ensure_ascii=True)
        data = memoryview(text.encode() + b"\n")
        with self._lock:
            while data:
                data = data[os.write(self._target, data) :]

    def log(self, level: str, text: str) -> None:
        """Send a log line; beyond a number of them, none."""
        with self._lock:
            self._lines += 1
            if self._lines > MAX_LOG_LINES:
                return
            params = {"level": level, "text": text[:MAX_LOG_CHARACTERS]}
            self.send({"method": "log", "params": params})


class _LogStream(io.TextIOBase, TextIO):
    """A text stream of which every line becomes a log line."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def __init__(self, channel: Channel, level: str) -> None:
        super().__init__()
        self._channel = channel
        self._level = level
        self._pending = ""
        self._raw = _RawLog(self)
        self._lock = threading.RLock()

    @property
    def buffer(self) -> Any:
        """The stream for bytes."""
        return self._raw

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return False

    def write(self, text: str) -> int:
        with self._lock:
            *lines, self._pending = (self._pending + str(text)).split("\n")
            if len(self._pending) > MAX_LOG_CHARACTERS:
                lines.append(self._pending)
                self._pending = ""
            for line in lines:
                self._channel.log(self._level, line)
        return len(text)

    def flush(self) -> None:
        with self._lock:
            if self._pending:
                self._channel.log(self._level, self._pending)
                self._pending = ""


class _RawLog(io.RawIOBase):
    """What `sys.stdout.buffer` is: bytes written there are log lines too."""

    def __init__(self, stream: _LogStream) -> None:
        super().__init__()
        self._stream = stream

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        content = bytes(data)
        self._stream.write(content.decode("utf-8", "backslashreplace"))
        return len(content)


class _LogHandler(logging.Handler):
    """Sends the records of `logging` as log lines of their own level."""

    def __init__(self, channel: Channel) -> None:
        super().__init__()
        self._channel = channel
        self.setFormatter(logging.Formatter("%(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        level = next((name for least, name in LEVELS if record.levelno >= least), "debug")
        try:
            self._channel.log(level, self.format(record))
        except Exception:
            self.handleError(record)
