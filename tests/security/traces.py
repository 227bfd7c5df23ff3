"""Look for a secret wherever the product could have left it."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import redis
from django.conf import settings
from django.db import connection
from psycopg.sql import SQL, Identifier

END = "the-search-is-over"


def forms_of(secret: str) -> set[str]:
    """Return the forms to look for; made here anew, apart from how the product masks."""
    data = secret.encode()
    forms = {secret, data.hex(), data.hex().upper(), quote(secret, safe=""), secret[::-1]}
    forms.add("".join(f"%{byte:02x}" for byte in data))
    forms.add("".join(f"\\u{byte:04x}" for byte in data))
    forms.add(", ".join(str(byte) for byte in data))
    forms.add(",".join(str(byte) for byte in data))
    forms.add('", "'.join(secret))
    for pad in range(3):
        text = base64.b64encode(b"\0" * pad + data).decode()
        core = text[4 if pad else 0 : len(data) // 3 * 4]
        forms |= {core, core.replace("+", "-").replace("/", "_")}
    return forms


def found_in(text: str, secrets: Iterable[str]) -> list[str]:
    """Return the forms of the secrets that stand in a text."""
    return sorted(form for secret in secrets for form in forms_of(secret) if form in text)


def tables() -> Iterator[tuple[str, str]]:
    """Yield every table of the database as (name, all of its rows as text).

    A row cast to text has every column; bytes are in it as hexadecimal digits.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name FROM information_schema.tables "
            "WHERE table_schema = 'public' AND table_type = 'BASE TABLE' ORDER BY 1"
        )
        for (name,) in cursor.fetchall():
            query = SQL("SELECT string_agg(t::text, chr(10)) FROM {} t").format(Identifier(name))
            cursor.execute(query)
            text = cursor.fetchone()[0] or ""
            # a row as text doubles quotes and backslashes
            yield name, text.replace('""', '"').replace("\\\\", "\\")


@contextmanager
def redis_traffic() -> Iterator[list[str]]:
    """Keep every command that Redis is sent for as long as the block lasts."""
    heard: list[str] = []
    ready = threading.Event()
    client = redis.Redis.from_url(settings.REDIS_URL)

    def listen() -> None:
        with client.monitor() as monitor:
            ready.set()
            while END not in (command := str(monitor.next_command()["command"])):
                heard.append(command)

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    assert ready.wait(60)
    try:
        yield heard
    finally:
        client.echo(END)
        thread.join(60)
        client.close()


def redis_content() -> Iterator[tuple[str, str]]:
    """Yield every key of Redis with what it holds, as Redis would save it."""
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        for key in client.scan_iter():
            kind = client.type(key)
            values = {
                b"string": lambda k: [client.get(k)],
                b"list": lambda k: client.lrange(k, 0, -1),
                b"set": client.smembers,
                b"hash": lambda k: [part for pair in client.hgetall(k).items() for part in pair],
                b"zset": lambda k: client.zrange(k, 0, -1),
                b"none": lambda _: [],  # the product goes on: it has gone since it was listed
            }[kind](key)
            text = b"\n".join(value for value in values if value is not None)
            yield key.decode(errors="replace"), text.decode(errors="replace")


def process_list() -> str:
    """Return the command line of every process, as `ps` shows it to everybody."""
    lines = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            lines.append(
                (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            )
        except OSError:
            continue
    return "\n".join(lines)
