"""A model that says what a test tells it to, behind an OpenAI-compatible HTTP server on loopback.

LiteLLM's own HTTP path runs against it: `model="openai/scripted"`, `OPENAI_API_BASE=<url>`.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
import zlib
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

MODEL = "openai/scripted"
EMBEDDING_MODEL = "openai/scripted-embedding"
DIMENSIONS = 64
HELD_SECONDS = 300
"""How long an answer is held at most: longer than a slow test takes to let go of it."""

PIECE = 7
"""Characters of one streamed piece; small, so that arguments come in several."""

USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}

_ids = count(1)


@dataclass
class Call:
    """A tool call; `arguments` as text is sent as it is, well-formed or not."""

    name: str
    arguments: dict[str, Any] | str = field(default_factory=dict)
    id: str = field(default_factory=lambda: f"call_{next(_ids)}")

    @property
    def text(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclass
class Reply:
    """One answer: words, then calls. With `hold`, it waits there after its first piece.

    `dies` breaks the connection off before the end; `status` other than 200 refuses, with
    `headers`. `late` seconds pass before the first piece, `pause` seconds before each further one.
    `raw` are chunks that are sent as they are, in place of all else, and `sent` bytes that are;
    `ended` is the finish reason and `usage` what is counted, None for a provider that counts
    nothing. With `endless` its words are said again and again, for as long as somebody listens.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    hold: threading.Event | None = None
    dies: bool = False
    status: int = 200
    cached: int = 0
    stamps: int = 0
    """Pieces that are only the time at which they are sent (`|seconds|`), one every `pace` s."""
    pace: float = 0.0
    error: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    late: float = 0
    pause: float = 0
    raw: tuple[dict[str, Any], ...] = ()
    sent: bytes = b""
    endless: bool = False
    piece: int = PIECE
    ended: str = ""
    usage: dict[str, Any] | None = field(default_factory=lambda: dict(USAGE))


@dataclass
class Embedding:
    """One answer to a request for vectors: a refusal, or vectors after a wait."""

    status: int = 200
    error: dict[str, Any] = field(default_factory=dict)
    hold: threading.Event | None = None


def vector_of(text: str) -> list[float]:
    """Return a vector in which each word of a text has a place: the same words, the same vector."""
    numbers = [0.0] * DIMENSIONS
    for word in re.findall(r"[a-z]{3,}", text.lower()):
        numbers[zlib.crc32(word.encode()) % DIMENSIONS] += 1.0
    return numbers


class ModelServer:
    """The server's script and what it was asked."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[dict[str, Any]] = []
        self.arrived = 0.0
        """When the last question came, by this process's `time.perf_counter`."""
        self.keyed: dict[str, list[Reply]] = {}
        """Answers by the user's message, for conversations side by side; the script is for all."""
        self._script: deque[Reply] = deque()
        self._embeddings: deque[Embedding] = deque()

    def enqueue(self, *replies: Reply | str) -> None:
        """Add answers to the script; a text is an answer in words."""
        self._script += [Reply(reply) if isinstance(reply, str) else reply for reply in replies]

    def calls(self, *calls: Call, text: str = "") -> None:
        """Add an answer that calls tools."""
        self._script.append(Reply(text, calls))

    def refuses(
        self, status: int, message: str = "No.", code: str = "", *, times: int = 1, **headers: str
    ) -> None:
        """Add refusals in the shape of OpenAI's errors; `retry_after` is a header."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        refusal = Reply(status=status, error={"message": message, "code": code}, headers=named)
        self._script += [refusal] * times

    def embeds(self, *answers: Embedding) -> None:
        """Add answers to the script of embeddings; past its end, every text has a vector."""
        self._embeddings += answers

    def tools_offered(self, request: int = -1) -> list[str]:
        """Return the names of the tools that a request offered."""
        return [tool["function"]["name"] for tool in self.requests[request].get("tools", [])]

    async def answer(self, request: Request) -> Response:
        """Take the next answer from the script."""
        self.arrived = time.perf_counter()
        self.requests.append(body := await request.json())
        reply = self._next(body)
        if reply is None:
            return _refusal(500, {"message": "The script is at its end."})
        if reply.status != 200:
            return _refusal(reply.status, reply.error, reply.headers)
        if not body.get("stream"):
            return JSONResponse(_whole(reply))
        return StreamingResponse(_lines(reply), media_type="text/event-stream")

    def _next(self, body: dict[str, Any]) -> Reply | None:
        users = [row["content"] for row in body["messages"] if row["role"] == "user"]
        if users and self.keyed.get(users[-1]):
            return self.keyed[users[-1]].pop(0)
        return self._script.popleft() if self._script else None

    async def embed(self, request: Request) -> Response:
        """Answer with the vectors of texts, or as the script says."""
        body = await request.json()
        self.requests.append(body)
        told = self._embeddings.popleft() if self._embeddings else Embedding()
        if told.hold:
            await asyncio.to_thread(told.hold.wait, HELD_SECONDS)
        if told.status != 200:
            return _refusal(told.status, told.error)
        rows = [
            {"object": "embedding", "index": index, "embedding": vector_of(text)}
            for index, text in enumerate(body["input"])
        ]
        usage = {"prompt_tokens": 3, "total_tokens": 3}
        return JSONResponse({"object": "list", "data": rows, "model": "scripted", "usage": usage})


def _refusal(status: int, error: dict[str, Any], headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": {"type": "error", "param": None, **error}}, status, headers)


def _whole(reply: Reply) -> dict[str, Any]:
    """Return an answer at once, for who asks for no stream."""
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.text}}
        for call in reply.calls
    ]
    message = {"role": "assistant", "content": reply.text or None}
    choice = {
        "index": 0,
        "message": {**message, **({"tool_calls": calls} if calls else {})},
        "finish_reason": reply.ended or ("tool_calls" if calls else "stop"),
    }
    head = {"id": "scripted", "object": "chat.completion", "created": 1, "model": "scripted"}
    return {**head, "choices": [choice], "usage": reply.usage}


async def _lines(reply: Reply) -> AsyncIterator[str | bytes]:
    if reply.late:
        await asyncio.sleep(reply.late)
    if reply.sent:
        yield reply.sent
        return
    while reply.endless:
        yield _line({"choices": [{"index": 0, "delta": {"content": reply.text}}]})
        await asyncio.sleep(reply.pause)
    if reply.raw:
        for chunk in reply.raw:
            yield _line(chunk)
        if not reply.dies:
            yield "data: [DONE]\n\n"
            return
    for _ in range(reply.stamps):
        content = f"|{time.perf_counter():.6f}|"
        yield _line({"choices": [{"index": 0, "delta": {"role": "assistant", "content": content}}]})
        await asyncio.sleep(reply.pace)
    for number, delta in enumerate(_deltas(reply)):
        if number and reply.pause:
            await asyncio.sleep(reply.pause)
        if number == 1 and reply.hold:
            await asyncio.to_thread(reply.hold.wait, HELD_SECONDS)
        yield _line({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    if reply.dies:
        raise ConnectionResetError("The script says that the model dies here.")
    reason = reply.ended or ("tool_calls" if reply.calls else "stop")
    yield _line({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    if reply.usage is not None:
        details = {"prompt_tokens_details": {"cached_tokens": reply.cached}} if reply.cached else {}
        yield _line({"choices": [], "usage": {**reply.usage, **details}})
    yield "data: [DONE]\n\n"


def _deltas(reply: Reply) -> Iterator[dict[str, Any]]:
    for piece in _pieces(reply.text, reply.piece):
        yield {"role": "assistant", "content": piece}
    for index, call in enumerate(reply.calls):
        head = {"name": call.name, "arguments": ""}
        yield _call_delta({"index": index, "id": call.id, "type": "function", "function": head})
        for piece in _pieces(call.text, reply.piece):
            yield _call_delta({"index": index, "function": {"arguments": piece}})


def _call_delta(call: dict[str, Any]) -> dict[str, Any]:
    return {"tool_calls": [call]}


def _pieces(text: str, length: int) -> Iterator[str]:
    for start in range(0, len(text), length):
        yield text[start : start + length]


def _line(chunk: dict[str, Any]) -> str:
    head = {"id": "scripted", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    return f"data: {json.dumps({**head, **chunk})}\n\n"


@contextmanager
def served() -> Iterator[ModelServer]:
    """Run the server in a thread for as long as the block lasts."""
    model = ModelServer("")
    routes = [
        Route("/v1/chat/completions", model.answer, methods=["POST"]),
        Route("/v1/embeddings", model.embed, methods=["POST"]),
    ]
    app = Starlette(routes=routes)
    config = uvicorn.Config(app, "127.0.0.1", 0, log_level="critical", lifespan="off")
    server = uvicorn.Server(config)
    listening = config.bind_socket()
    listening.listen()  # from here on: who asks before the server runs waits for it
    model.url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    try:
        yield model
    finally:
        server.should_exit = True
        thread.join(10)
        listening.close()
