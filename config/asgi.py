"""The ASGI application: static files by Starlette, everything else by Django."""

import os
from asyncio import to_thread
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from threading import Thread

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from django.conf import settings
from django.core.asgi import get_asgi_application
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

django_application = get_asgi_application()


@asynccontextmanager
async def lifespan(_: Starlette) -> AsyncIterator[None]:
    """Load LiteLLM and the search index while nobody waits: both may take seconds.

    When the server is told to end, the turns that it runs are closed at once, and say so.
    """
    from chat.llm import warm_up  # its models need Django to be set up
    from chat.turns import turns_interrupt
    from registry.search.dense import meaning
    from registry.search.service import warm

    Thread(target=warm_up, name="warm-up", daemon=True).start()
    Thread(target=meaning.warm_up, name="meaning", daemon=True).start()
    warm()
    yield
    await to_thread(turns_interrupt)


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
