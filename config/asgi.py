"""The ASGI application, all of it watched.

Static files are served by Starlette, MCP by its SDK, everything else by Django.
"""

import gc
import os
import signal
import threading
from asyncio import to_thread
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from types import FrameType

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

import django
from django.conf import settings
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from config.ending import after
from config.handling import Handler
from config.observing import Observed

LAST_WORDS_SECONDS = 0.5
"""What is left to tell of the turns that were closed goes out in that time."""

django.setup(set_prefix=False)
django_application = Handler()

from agents.mcp.addresses import Elsewhere, mcp_routes  # noqa: E402 -- needs Django set up
from agents.mcp.app import application as mcp_application  # noqa: E402
from agents.mcp.app import mcp_app  # noqa: E402
from agents.mcp.origins import with_cors  # noqa: E402

_elsewhere = Elsewhere(django_application)  # type: ignore[arg-type]  # as below
mcp_elsewhere = with_cors(_elsewhere, settings.MCP_ORIGINS)


def on_end(act: Callable[[], None]) -> None:
    """Have something done as soon as the process is told to end, beside what the server does.

    The server itself tells of its end only when all streams are over.
    """
    if threading.current_thread() is not threading.main_thread():
        return  # a server within another program, which hears the signals

    for number in (signal.SIGINT, signal.SIGTERM):
        before = signal.getsignal(number)
        if callable(before):
            signal.signal(number, partial(_told_to_end, act, before))


def _told_to_end(
    act: Callable[[], None],
    before: Callable[[int, FrameType | None], object],
    number: int,
    frame: FrameType | None,
) -> None:
    threading.Thread(target=act, name="end").start()
    before(number, frame)


def _for_good(load: Callable[[], object]) -> None:
    """Load what stays as long as the process does, and never look through it for garbage again.

    Python stops everything while it looks at all there is: for half a second with all libraries.
    """
    load()
    gc.freeze()


@asynccontextmanager
async def lifespan(_: Starlette) -> AsyncIterator[None]:
    """Load LiteLLM and the search index while nobody waits: both may take seconds.

    When the server is told to end, the turns that it runs are closed at once, and say so; their
    streams end with that, and a moment later all others, so that the server need not wait for them.
    """
    from chat.llm import warm_up  # its models need Django to be set up
    from chat.turns import turns_interrupt
    from registry.search.dense import meaning
    from registry.search.service import warm

    threading.Thread(target=_for_good, args=[warm_up], name="warm-up", daemon=True).start()
    threading.Thread(target=_for_good, args=[meaning.warm_up], name="meaning", daemon=True).start()
    warm()
    on_end(after(turns_interrupt, LAST_WORDS_SECONDS))
    on_end(mcp_app.end)
    async with mcp_app.running():
        yield
    await to_thread(turns_interrupt)  # those that began since


application = Observed(
    Starlette(
        lifespan=lifespan,
        routes=[
            Mount(
                settings.STATIC_URL.rstrip("/"),
                StaticFiles(directory=settings.STATIC_ROOT, check_dir=False),
            ),
            *mcp_routes(mcp_application, mcp_elsewhere),
            Mount("/", django_application),  # type: ignore[arg-type]  # the stubs want a dict as scope
        ],
    )
)
