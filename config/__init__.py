"""Composition root: settings, URLs, Celery, ASGI and the embedded services."""

import os

# numpy's threads only wait for each other on rows as short as ours; read when numpy is imported
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from config.celery import app as celery_app

__all__ = ["celery_app"]
