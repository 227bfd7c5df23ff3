"""Carry the bytes of one connection between a sandbox and a server."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from typing import NamedTuple

from registry.sandbox.service.forwarding import CHUNK_BYTES, Incoming, Target
from registry.sandbox.service.limits import MB

GOODBYE_SECONDS = 1.0

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True, slots=True)
class Caps:
    """What one sandbox may use of the network.

    A connection on which nothing moves is ended: `silent_seconds` after the tool has hung up or
    has said that it sends no more, `idle_seconds` otherwise.
    """

    bytes: int = 50 * MB
    connections: int = 32
    head_seconds: float = 10.0
    connect_seconds: float = 10.0
    idle_seconds: float = 60.0
    silent_seconds: float = 5.0


class Passage(NamedTuple):
    """What the sandbox asked for, its own end of the connection, and the server's."""

    incoming: Incoming
    inside: Streams
    outside: Streams
    target: Target


async def relay(passage: Passage, caps: Caps, spend: Callable[[int], None]) -> None:
    """Carry bytes both ways until the server's side ends, or a cap is reached.

    `spend` is told of every byte, and raises when there were too many.
    """
    incoming, inside, outside, target = passage
    patience = caps.idle_seconds
    async with asyncio.timeout(patience) as idle:

        def moved() -> None:
            idle.reschedule(asyncio.get_running_loop().time() + patience)

        async def carry(parts: AsyncIterator[bytes], writer: asyncio.StreamWriter) -> None:
            async for part in parts:
                spend(len(part))
                moved()
                writer.write(part)
                await writer.drain()

        async def send() -> None:
            nonlocal patience
            if incoming.is_tunnel:
                await carry(_parts(inside[0], incoming.early), outside[1])
                outside[1].write_eof()
            else:
                await carry(incoming.written_anew(target), outside[1])
                await _until_end(inside[0])
            # Whoever says no more may still listen, but mostly it has gone.
            patience = caps.silent_seconds
            moved()

        if incoming.is_tunnel:
            inside[1].write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await _until_answered(send(), carry(_parts(outside[0]), inside[1]))
    await say_goodbye(*inside)


async def say_goodbye(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """End our side and wait a moment for theirs: hung up at once, they might not see the end."""
    writer.write_eof()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(GOODBYE_SECONDS):
            await _until_end(reader)


async def _until_answered(
    send: Coroutine[None, None, None], receive: Coroutine[None, None, None]
) -> None:
    """Run both until the receiving one ends; a failure of either ends both."""
    sending, answer = asyncio.create_task(send), asyncio.create_task(receive)
    try:
        await asyncio.wait({sending, answer}, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done() and sending.exception() is not None:
            raise ConnectionAbortedError from sending.exception()
        await answer
    finally:
        for task in (sending, answer):
            task.cancel()
        await asyncio.gather(sending, answer, return_exceptions=True)


async def _until_end(reader: asyncio.StreamReader) -> None:
    while await reader.read(CHUNK_BYTES):
        pass


async def _parts(reader: asyncio.StreamReader, first: bytes = b"") -> AsyncIterator[bytes]:
    if first:
        yield first
    while chunk := await reader.read(CHUNK_BYTES):
        yield chunk
