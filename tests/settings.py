"""The product's settings, on embedded services of this test run's own.

The environment is set before `config.settings` reads it. The process that pytest was started as
makes the folder; the parallel workers inherit it, each with a Redis database of its own (their
PostgreSQL databases are told apart by pytest-django).
"""

import os
import tempfile
from pathlib import Path

WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")

if not WORKER:
    folder = Path(tempfile.mkdtemp(prefix="outfitter-test-"))
    folder.chmod(0o755)  # PostgreSQL and the sandbox run under accounts of their own
    os.environ["OUTFITTER_VAR"] = str(folder)

if WORKER and "REDIS_URL" not in os.environ:
    from config.embedded import addresses

    number = int(WORKER.removeprefix("gw")) + 1
    os.environ["REDIS_URL"] = addresses().redis_url.replace("?db=0", f"?db={number}")

os.environ["OUTFITTER_EMBEDDINGS"] = "off"  # tests of search by meaning name an encoder

from config.settings import *  # noqa: E402, F403

PASSWORD_HASHERS = [  # people are made all the time; the second is what the running product knows
    "django.contrib.auth.hashers.MD5PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
    "agents.oauth.hashing.SecretHasher",
]

INSTALLED_APPS += ["tests.emptying"]  # noqa: F405

# Tests that commit empty the tables afterwards, which the product lets nobody do.
DATABASES["default"]["OPTIONS"]["options"] = "-c outfitter.empty=on"  # noqa: F405

SEARCH_FOLLOWS_CHANGES = False
"""Tests search what their own transaction has written, which no other thread could see."""
