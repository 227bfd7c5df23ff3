"""The ASGI application: static files by Starlette, everything else by Django."""

import os
import signal
import threading
from asyncio import to_thread
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from types import FrameType

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from django.conf import settings
from django.core.asgi import get_asgi_application
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

django_application = get_asgi_application()


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


@asynccontextmanager
async def lifespan(_: Starlette) -> AsyncIterator[None]:
    """Load LiteLLM and the search index while nobody waits: both may take seconds.

    When the server is told to end, the turns that it runs are closed at once, and say so; their
    streams end with that, so that the server need not wait for them.
    """
    from chat.llm import warm_up  # its models need Django to be set up
    from chat.turns import turns_interrupt
    from registry.search.dense import meaning
    from registry.search.service import warm

    threading.Thread(target=warm_up, name="warm-up", daemon=True).start()
    threading.Thread(target=meaning.warm_up, name="meaning", daemon=True).start()
    warm()
    on_end(turns_interrupt)
    yield
    await to_thread(turns_interrupt)  # those that began since


application = Starlette(
    lifespan=lifespan,
    routes=[
        Mount(
            settings.STATIC_URL.rstrip("/"),
            StaticFiles(directory=settings.STATIC_ROOT, check_dir=False),
        ),
        Mount("/", django_application),  # type: ignore[arg-type]  # the stubs want a dict as scope
    ],
)
