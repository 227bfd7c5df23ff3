"""Log lines that say what they belong to, as JSON or as plain text, without secrets.

Whoever begins a request, a turn, a run, a step or a call notes its id with `noted`; every line
that is logged inside carries it. Threads get what is noted by `config.lib.carrying`.
"""

import logging
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pythonjsonlogger.json import JsonFormatter

from config.lib.masking import MASK, Masker
from config.lib.secret_names import names_a_secret
from config.lib.types import JsonObject

Ids = Mapping[str, str]

IDS = ("request_id", "user_id", "turn_id", "run_id", "step_id", "invocation_id", "task_id")
"""What a line may be marked with, in this order."""

_ids: ContextVar[Ids] = ContextVar("outfitter_ids", default={})  # noqa: B039 -- never changed
_maskers: ContextVar[tuple[Masker, ...]] = ContextVar("outfitter_maskers", default=())

_SHAPES = re.compile(
    r"(?P<bearer>\b(?:bearer|basic)\s+)[\w.~+/=-]{8,}"
    r"|(?P<address>\w://[^\s/:@]*:)[^\s/@]+(?=@)"
    r"|(?P<named>[?&](?:access_token|refresh_token|code|client_secret|token|api_key|key|password)=)"
    r"[^\s&\"'#]+"
    r"|\boft_[\w-]{8,}",
    re.IGNORECASE,
)
"""What looks like a secret wherever it stands: headers, passwords in addresses, our own tokens."""


@contextmanager
def noted(**ids: object) -> Iterator[None]:
    """Mark the lines that are logged inside with these ids; one that is empty changes nothing."""
    known = {name: str(value) for name, value in ids.items() if value}
    token = _ids.set({**_ids.get(), **known})
    try:
        yield
    finally:
        _ids.reset(token)


def noted_ids() -> Ids:
    """Return the ids that lines are marked with here."""
    return _ids.get()


def hide(masker: Masker) -> None:
    """Keep further secrets out of the lines that are logged until `hiding` ends."""
    if masker:
        _maskers.set((*_maskers.get(), masker))


@contextmanager
def hiding(*maskers: Masker) -> Iterator[None]:
    """Keep secrets out of the lines that are logged inside, and forget what is hidden there."""
    token = _maskers.set((*_maskers.get(), *maskers))
    try:
        yield
    finally:
        _maskers.reset(token)


def hidden() -> tuple[Masker, ...]:
    """Return what keeps secrets out of lines here."""
    return _maskers.get()


def without_secrets(text: str) -> str:
    """Return a line without what is, or looks like, a secret."""
    text = _SHAPES.sub(_masked, text)
    for masker in (*_of_process, *_maskers.get()):
        text = masker.text(text)
    return text


def _masked(found: re.Match[str]) -> str:
    before = found["bearer"] or found["address"] or found["named"] or ""
    return f"{before}{MASK}"


def _secrets_of_process() -> Masker:
    """Return what hides the secrets that this process was started with."""
    values = [value for name, value in os.environ.items() if names_a_secret(name)]
    named = ("SECRET_KEY", "METRICS_TOKEN", "OUTFITTER_ADMIN_PASSWORD", "OUTFITTER_ENCRYPTION_KEYS")
    values += [part for name in named for part in os.environ.get(name, "").split(",")]
    return Masker(value for value in values if len(value) >= SHORTEST)


SHORTEST = 8
"""Characters that a variable's value has at least to be hidden: shorter ones are in many words."""

_of_process = [_secrets_of_process()]


def hide_always(secrets: Iterable[str]) -> None:
    """Keep further secrets of the process, such as generated ones, out of all its lines."""
    _of_process.append(Masker(secrets))


def process_kind(argv: list[str] | None = None) -> str:
    """Return what this process is: web, worker, beat, sandbox or the name of a command."""
    argv = sys.argv if argv is None else argv
    program = " ".join(Path(argv[0]).parts[-2:]) if argv else ""
    if "uvicorn" in program:
        return "web"
    if "sandbox" in " ".join(Path(argv[0]).parts[-3:]) if argv else False:
        return "sandbox"
    if "celery" in program:
        return next((word for word in argv[1:] if word in ("worker", "beat")), "celery")
    return argv[1] if program.endswith("manage.py") and len(argv) > 1 else "python"


class Plain(logging.Formatter):
    """For people: `INFO chat.turns: … [request_id=… turn_id=…]`."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line with what it belongs to at the end of its first line."""
        first, newline, rest = super().format(record).partition("\n")
        marks = " ".join(f"{name}={value}" for name, value in ids_of(record).items())
        return without_secrets(f"{first}{f' [{marks}]' if marks else ''}{newline}{rest}")


class JsonLines(JsonFormatter):
    """For programs: an object each line, `{time, level, logger, message, process, …}`."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            "{message}",
            style="{",
            rename_fields={"exc_info": "exception"},
            json_ensure_ascii=False,
            **options,
        )
        self._process = process_kind()

    def add_fields(
        self, log_data: JsonObject, record: logging.LogRecord, message_dict: JsonObject
    ) -> None:
        """Write the fields of a line in the order in which people look for them."""
        log_data["time"] = datetime.fromtimestamp(record.created, UTC).isoformat()
        log_data["level"] = record.levelname.lower()
        log_data["logger"] = record.name
        super().add_fields(log_data, record, message_dict)
        log_data["process"] = self._process
        log_data["pid"] = record.process
        log_data.update(ids_of(record))

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        return without_secrets(super().format(record))


def ids_of(record: logging.LogRecord) -> JsonObject:
    """Return what a line belongs to: what it says itself, then what is noted."""
    noted_here = {**_ids.get(), **getattr(record, "ids", {})}
    return {name: noted_here[name] for name in IDS if noted_here.get(name)}


def formatters() -> JsonObject:
    """Return the formatters for `logging.config.dictConfig`."""
    return {
        "plain": {"()": Plain, "fmt": "{levelname} {name}: {message}", "style": "{"},
        "json": {"()": JsonLines},
    }


def log_format() -> str:
    """Return which of the formatters is wanted: `LOG_FORMAT`, json or plain.

    Raises ValueError for anything else.
    """
    chosen = os.environ.get("LOG_FORMAT", "").strip().lower() or "plain"
    if chosen not in ("json", "plain"):
        raise ValueError(f"LOG_FORMAT is “{chosen}”: it must be json or plain.")
    return chosen
