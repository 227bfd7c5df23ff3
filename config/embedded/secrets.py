"""The product's own secrets: generated into `var/secrets.json`, or taken from the environment."""

import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured

from config.embedded.locks import FileLock
from config.embedded.places import lock_file, var_dir

SHORTEST_KEY = 50
FEWEST_CHARACTERS = 5
"""The two bounds that Django's own deployment check puts on SECRET_KEY (security.W009)."""


@dataclass(frozen=True)
class Secrets:
    """`secret_key` signs sessions; `encryption_keys` (Fernet, newest first) seal credentials."""

    secret_key: str
    encryption_keys: tuple[str, ...]


def load_or_create(environ: Mapping[str, str] = os.environ) -> Secrets:
    """Return the secrets for these environment variables.

    With DATABASE_URL (a real deployment) both must be in the environment; without it what is not
    there comes from `var/secrets.json`, made (mode 0600) on the first call.
    Raises ImproperlyConfigured when one is missing or weak, and says how to make one.
    """
    generated = None if environ.get("DATABASE_URL") else _generated()
    key = environ.get("SECRET_KEY") or (generated.secret_key if generated else "")
    named = environ.get("OUTFITTER_ENCRYPTION_KEYS", "")
    sealing = tuple(part.strip() for part in named.split(",") if part.strip())
    if not sealing and generated:
        sealing = generated.encryption_keys
    if problems := weaknesses(Secrets(key, sealing)):
        raise ImproperlyConfigured(" ".join(problems))
    return Secrets(key, sealing)


def weaknesses(found: Secrets) -> list[str]:
    """Return one sentence, with its mending, for each secret that is missing or weak."""
    problems = []
    key = found.secret_key
    if len(key) < SHORTEST_KEY or len(set(key)) < FEWEST_CHARACTERS or "insecure" in key:
        problems.append(
            f"SECRET_KEY is {'weak' if key else 'not set'}: it needs {SHORTEST_KEY} random "
            "characters. Make one with "
            '`python -c "import secrets; print(secrets.token_urlsafe(50))"`.'
        )
    if not found.encryption_keys or not all(map(_is_fernet_key, found.encryption_keys)):
        problems.append(
            f"OUTFITTER_ENCRYPTION_KEYS is {'malformed' if found.encryption_keys else 'not set'}: "
            "it needs one or more Fernet keys, newest first, with commas between. Make one with "
            '`python -c "from cryptography.fernet import Fernet; '
            'print(Fernet.generate_key().decode())"`.'
        )
    return problems


def _generated() -> Secrets:
    path = var_dir() / "secrets.json"
    lock = FileLock(lock_file("secrets"))
    if not path.exists() and not lock.wait_alone(10):
        raise ImproperlyConfigured(f"Another process has been writing {path} for too long.")
    try:
        if not path.exists():
            _create(path)
        return _read(path)
    finally:
        lock.release()


def _is_fernet_key(text: str) -> bool:
    try:
        Fernet(text)
    except ValueError:
        return False
    return True


def _create(path: Path) -> None:
    content = json.dumps(
        {
            "SECRET_KEY": secrets.token_urlsafe(50),
            "OUTFITTER_ENCRYPTION_KEYS": [Fernet.generate_key().decode()],
        },
        indent=1,
    )
    draft = path.with_suffix(".new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(content)
    draft.rename(path)


def _read(path: Path) -> Secrets:
    try:
        stored = json.loads(path.read_text())
        return Secrets(stored["SECRET_KEY"], tuple(stored["OUTFITTER_ENCRYPTION_KEYS"]))
    except (ValueError, KeyError, TypeError) as error:
        raise ImproperlyConfigured(
            f"{path} cannot be read. Restore it from a copy; without its keys the stored "
            "credentials stay sealed. Removing it makes new keys."
        ) from error
