"""A server of its own for the benchmarks of streams, and a client that costs next to nothing."""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.fakes.model_server import ModelServer
from tests.live import Process
from tests.web_process import web_process

BARE = "tests.benchmarks.bare:app"
STAMP = re.compile(rb"\|(\d+\.\d+)\|")


@dataclass
class Heard:
    """One stream to its end: how long each stamped piece took, in ms, and whether it ended well."""

    delays: list[float] = field(default_factory=list)
    ended: bool = False


@dataclass(frozen=True)
class Server:
    """A server process."""

    port: int
    process: Process
    token: str = ""

    @asynccontextmanager
    async def open(
        self, path: str, body: dict[str, object] | None = None
    ) -> AsyncIterator[asyncio.StreamReader]:
        """Send a request (a POST where there is a body); yields what reads the answer."""
        content = json.dumps(body).encode() if body is not None else b""
        head = (
            f"{'GET' if body is None else 'POST'} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"Authorization: Bearer {self.token}\r\nAccept: text/event-stream\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n"
            "Connection: close\r\n\r\n"
        )
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(head.encode() + content)
            yield reader
        finally:
            writer.close()

    async def hear(self, path: str, body: dict[str, object]) -> Heard:
        """Send a message and read the stream to its end."""
        heard = Heard()
        async with self.open(path, body) as reader:
            while line := await reader.readline():
                now = time.perf_counter()
                heard.delays += [(now - float(sent)) * 1000 for sent in STAMP.findall(line)]
                heard.ended |= line.startswith(b"event: turn.completed")
        return heard

    def cpu(self) -> float:
        """Return the processor time that the process has used, in seconds."""
        fields = Path(f"/proc/{self.process.popen.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> int:
        """Return the memory of the process, in KB."""
        status = Path(f"/proc/{self.process.popen.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert found
        return int(found[1])


@contextmanager
def serving(app: str, folder: Path, model: ModelServer, token: str = "") -> Iterator[Server]:
    """Run an app in one process on this test's database, with the scripted model."""
    env = {"OPENAI_API_BASE": model.url, "OPENAI_API_KEY": "sk-scripted"}
    with web_process(folder, app=app, env=env) as (process, port):
        yield Server(port, process, token)
