"""The ASGI application: static files by Starlette, everything else by Django."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from django.conf import settings
from django.core.asgi import get_asgi_application
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

django_application = get_asgi_application()

application = Starlette(
    routes=[
        Mount(
            settings.STATIC_URL.rstrip("/"),
            StaticFiles(directory=settings.STATIC_ROOT, check_dir=False),
        ),
        Mount("/", django_application),
    ]
)
