"""Django's ASGI handler, with one change of threads for a request, into a thread that was there."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import IO, Any

from asgiref.sync import sync_to_async
from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.core.handlers.base import BaseHandler
from django.http import FileResponse
from django.http.response import HttpResponseBase
from django.urls import set_script_prefix

from config.lib.threads import request_thread

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]


class Handler(ASGIHandler):
    """Does all of a request together, in one thread: signals, middleware, view, and the end of it.

    Our middleware is written without `await`, so that Django's own handler would go into a thread
    for the signal of the start, for the middleware and for the end, and back to the event loop
    between them. An asynchronous view runs in the event loop here too, and hears of a client that
    left; so does a stream.
    """

    def load_middleware(self, is_async: bool = False) -> None:
        """Load the middleware as for a handler without `await`."""
        super().load_middleware(is_async=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        async with request_thread():
            await self.handle(scope, receive, send)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, unless its client leaves before."""
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        set_script_prefix(get_script_prefix(scope))
        answering = asyncio.create_task(self._answer(scope, body, send))
        listening = asyncio.create_task(self.listen_for_disconnect(receive))
        try:
            await asyncio.wait((answering, listening), return_when=asyncio.FIRST_COMPLETED)
        finally:  # the request's thread is another's as soon as this is over
            answering.cancel()
            listening.cancel()
            ended = await asyncio.gather(answering, listening, return_exceptions=True)
            body.close()
        for problem in ended:
            if isinstance(problem, Exception) and not isinstance(problem, RequestAborted):
                raise problem

    async def _answer(self, scope: Scope, body: IO[bytes], send: Send) -> None:
        response: HttpResponseBase = await sync_to_async(self._respond)(scope, body)
        try:
            if not _was_cancelled():
                await self.send_response(response, send)
        finally:
            if not response.closed:
                await sync_to_async(response.close)()

    def _respond(self, scope: Scope, body: IO[bytes]) -> HttpResponseBase:
        """Return the response; one that is whole is over with that for all but its client."""
        signals.request_started.send(sender=self.__class__, scope=scope)
        try:
            request, refusal = self.create_request(scope, body)
            response: Any = refusal if request is None else BaseHandler.get_response(self, request)
        except BaseException:  # such as the end of an asynchronous view whose client left
            signals.request_finished.send(sender=self.__class__)
            raise
        response._handler_class = self.__class__
        if isinstance(response, FileResponse):
            response.block_size = self.chunk_size
        if not response.streaming:
            response.close()
        return response  # type: ignore[no-any-return]


def _was_cancelled() -> bool:
    """Say whether the client left while a thread was at work, which nothing can interrupt."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
