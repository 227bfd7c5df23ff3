"""Tell clients at once that the list of their tools has changed, whichever process changed it.

PostgreSQL rings when anything is written that decides on a list (`registry.changes`). What a
stream's list is made of is digested then, once a second at most, and only a stream whose digest
is another is told.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from threading import Thread
from typing import Any
from weakref import WeakKeyDictionary

import mcp_types as types
from django.db import DatabaseError
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import ListenHandler, ServerEvent, ToolsListChanged
from mcp.shared.exceptions import MCPError

from agents.mcp.digests import digest_of
from agents.mcp.endpoint import Endpoint
from agents.mcp.visits import visit_of
from config.lib.threads import in_thread
from registry.changes import Follower, feed
from registry.models.triggers import AUDIT_CHANNEL

logger = logging.getLogger(__name__)

GATHER_SECONDS = 0.05
"""How long changes are gathered: what one act writes is told once."""

REST_SECONDS = 1.0
"""A stream is told once in this time at most."""

MOST_STREAMS = 2_000
"""Streams of one process."""

MOST_OF_ONE = 200
"""Streams of one person in one process: nobody takes the place of all others."""

UNREAD = ""
"""The digest of a list that was not read yet, or changed while it was."""


@dataclass(eq=False)
class Stream:
    """One client that is told; `digest` is of the list as it knows it."""

    endpoint: Endpoint
    tell: Callable[[], None]
    digest: str | None = None
    rung: bool = False

    @property
    def key(self) -> tuple[object, ...]:
        """Return what streams have in common that see the same list."""
        bearer, agent = self.endpoint.bearer, self.endpoint.agent
        return (bearer.user.pk, bearer.scopes, agent and agent.pk, self.endpoint.progressive)


class Watch:
    """The streams of one event loop, and the task that tells them."""

    def __init__(self) -> None:
        self._streams: set[Stream] = set()
        self._loop = asyncio.get_running_loop()
        self._bell = asyncio.Event()
        self._follower: Follower | None = None
        self._task: asyncio.Task[None] | None = None

    def is_full(self, endpoint: Endpoint) -> bool:
        """Say whether there are as many streams as a process takes, of all or of this person."""
        user = endpoint.bearer.user.pk
        own = sum(stream.endpoint.bearer.user.pk == user for stream in self._streams)
        return own >= MOST_OF_ONE or len(self._streams) >= MOST_STREAMS

    async def join(self, endpoint: Endpoint, tell: Callable[[], None]) -> Callable[[], None]:
        """Have `tell` called when the list of an endpoint changes; return what ends that."""
        stream = Stream(endpoint, tell)
        self._streams.add(stream)
        if self._task is None:
            self._follower = feed.follow(AUDIT_CHANNEL, self._ring_from_thread)
            self._task = self._loop.create_task(self._run())
        try:
            digest = await in_thread(digest_of, endpoint)
        except BaseException:
            self._leave(stream)
            raise
        # what changed while it was read may or may not be in it
        stream.digest = UNREAD if stream.rung else digest
        if stream.rung:
            self._bell.set()
        return lambda: self._leave(stream)

    def _leave(self, stream: Stream) -> None:
        self._streams.discard(stream)
        if self._streams or self._task is None:
            return
        self._task.cancel()
        self._task = None
        if self._follower is not None:
            # the thread that hears the database may have to be waited for, and the loop may end
            Thread(target=feed.leave, args=(self._follower,), name="mcp-changes").start()
            self._follower = None

    def _ring_from_thread(self, _payload: str) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._ring)

    def _ring(self) -> None:
        for stream in self._streams:
            stream.rung = True
        self._bell.set()

    async def _run(self) -> None:
        while True:
            await self._bell.wait()
            await asyncio.sleep(GATHER_SECONDS)
            self._bell.clear()
            try:
                await self._look()
            except DatabaseError as problem:
                logger.warning("It could not be read whether lists of tools changed: %s", problem)
                self._bell.set()
            except Exception:  # the others are told at the next change
                logger.exception("Changed lists of tools could not be told")
            await asyncio.sleep(REST_SECONDS)

    async def _look(self) -> None:
        seen: dict[tuple[object, ...], str] = {}
        for stream in list(self._streams):
            if stream.digest is None:
                continue  # it is about to be read for the first time
            if stream.key not in seen:
                seen[stream.key] = await in_thread(digest_of, stream.endpoint)
            if stream.digest != seen[stream.key] and stream in self._streams:
                stream.digest = seen[stream.key]
                stream.tell()


_watches: "WeakKeyDictionary[asyncio.AbstractEventLoop, Watch]" = WeakKeyDictionary()


def watch() -> Watch:
    """Return the watch of the running event loop."""
    loop = asyncio.get_running_loop()
    if (found := _watches.get(loop)) is None:
        found = _watches[loop] = Watch()
    return found


class _Bus:
    """What the SDK's handler of a stream hears of changes by: those of one endpoint."""

    def __init__(self) -> None:
        self._listener: Callable[[ServerEvent], None] | None = None

    async def publish(self, event: ServerEvent) -> None:
        """Pass an event on to the stream."""
        self.tell(event)

    def tell(self, event: ServerEvent) -> None:
        """Pass an event on to the stream, if it is there."""
        if self._listener is not None:
            self._listener(event)

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Have the one stream hear."""
        self._listener = listener
        return lambda: None


async def on_listen(
    ctx: ServerRequestContext[Any, Any], params: types.SubscriptionsListenRequestParams
) -> types.SubscriptionsListenResult:
    """Answer `subscriptions/listen` (since 2026-07-28): a stream that tells of changes.

    Of what may be asked for, there is the list of tools.
    """
    if watch().is_full(visit_of(ctx).endpoint):
        raise MCPError(types.INTERNAL_ERROR, "Too many streams are open; try again later.")
    wanted = types.SubscriptionFilter(tools_list_changed=params.notifications.tools_list_changed)
    bus = _Bus()
    leave = await watch().join(visit_of(ctx).endpoint, lambda: bus.tell(ToolsListChanged()))
    try:
        return await ListenHandler(bus)(ctx, params.model_copy(update={"notifications": wanted}))
    finally:
        leave()


async def on_initialized(
    ctx: ServerRequestContext[Any, Any], params: types.NotificationParams
) -> None:
    """Have a session of the handshake revisions told of changes on its stream, until it ends."""
    if watch().is_full(visit_of(ctx).endpoint):
        return
    session, loop = ctx.session, asyncio.get_running_loop()
    sending: set[asyncio.Task[None]] = set()

    def tell() -> None:
        task = loop.create_task(session.send_tool_list_changed())
        sending.add(task)
        task.add_done_callback(sending.discard)

    leave = await watch().join(visit_of(ctx).endpoint, tell)
    session._connection.exit_stack.callback(leave)
