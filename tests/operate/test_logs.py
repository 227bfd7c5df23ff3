"""Lines of the log say what they belong to, and no secret."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator

import pytest
from django.conf import settings

from config.lib import logs
from config.lib.carrying import carried
from config.lib.exchanges import exchange_of
from config.lib.logs import JsonLines, Plain, hide, hiding, noted, process_kind
from config.lib.masking import MASK, Masker


class Kept(logging.Handler):
    """Keeps what it is given as lines."""

    def __init__(self, formatter: logging.Formatter) -> None:
        super().__init__()
        self.setFormatter(formatter)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    made = logging.getLogger("tests.operate.lines")
    made.propagate = False
    made.setLevel(logging.INFO)
    yield made
    made.handlers.clear()


def lines_of(logger: logging.Logger, formatter: logging.Formatter) -> list[str]:
    handler = Kept(formatter)
    logger.addHandler(handler)
    return handler.lines


def test_a_json_line_says_when_what_and_what_it_belongs_to(logger: logging.Logger) -> None:
    lines = lines_of(logger, JsonLines())
    with noted(request_id="r-1", turn_id="t-1"), noted(invocation_id="i-1", run_id=None):
        logger.info("%s tools", 3)
    logger.info("outside")
    inside, outside = map(json.loads, lines)
    assert inside["message"] == "3 tools"
    assert inside["level"] == "info"
    assert inside["logger"] == logger.name
    assert inside["time"].endswith("+00:00")
    assert {name: inside[name] for name in logs.IDS if name in inside} == {
        "request_id": "r-1",
        "turn_id": "t-1",
        "invocation_id": "i-1",
    }
    assert not set(logs.IDS) & set(outside)


def test_an_exception_is_one_line_of_json(logger: logging.Logger) -> None:
    lines = lines_of(logger, JsonLines())
    error = RuntimeError("first\nsecond")
    logger.error("It broke", exc_info=error)
    [line] = lines
    assert "\n" not in line
    assert "RuntimeError: first\nsecond" in json.loads(line)["exception"]


def test_a_plain_line_names_the_ids_behind_its_words(logger: logging.Logger) -> None:
    lines = lines_of(logger, Plain("{levelname} {name}: {message}", style="{"))
    with noted(run_id="run-7"):
        logger.warning("slow")
    assert lines == [f"WARNING {logger.name}: slow [run_id=run-7]"]


@pytest.mark.parametrize(
    "secret",
    [
        "Authorization: Bearer abc.def-ghi_jkl",
        "authorization: basic dXNlcjpwYXNzd29yZA==",
        "postgresql://tools:hunter2secret@db/tools",
        "GET /callback?code=s3cr3tcode&state=1",
        "oft_abcdefghijklmnop",
    ],
)
@pytest.mark.parametrize("formatter", [JsonLines(), Plain("%(message)s")])
def test_what_looks_like_a_secret_is_in_no_line(
    logger: logging.Logger, secret: str, formatter: logging.Formatter
) -> None:
    lines = lines_of(logger, formatter)
    logger.info("told: %s", secret)
    [line] = lines
    hidden = ("abc.def", "dXNlcjpwYXNz", "hunter2", "s3cr3tcode", "oft_abc")
    assert MASK in line
    assert not any(part in line for part in hidden)


def test_the_secrets_of_a_call_are_hidden_while_it_runs_in_other_threads_too(
    logger: logging.Logger,
) -> None:
    lines = lines_of(logger, Plain("%(message)s"))
    with hiding():
        hide(Masker(["quite-a-secret"]))
        thread = threading.Thread(target=carried(lambda: logger.info("it is quite-a-secret")))
        thread.start()
        thread.join()
    logger.info("quite-a-secret is a word again")
    assert lines == [f"it is {MASK}", "quite-a-secret is a word again"]


def test_the_secrets_of_the_process_are_in_no_line(logger: logging.Logger) -> None:
    lines = lines_of(logger, JsonLines())
    logger.info("%s and %s", settings.SECRET_KEY, settings.ENCRYPTION_KEYS[0])
    [line] = lines
    assert settings.SECRET_KEY not in line
    assert settings.ENCRYPTION_KEYS[0] not in line
    assert json.loads(line)["message"] == f"{MASK} and {MASK}"


def test_another_thread_knows_what_it_works_for(logger: logging.Logger) -> None:
    lines = lines_of(logger, Plain("%(message)s"))
    with noted(turn_id="t-9"):
        work = carried(lambda: logger.info("beside"))
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert lines == ["beside [turn_id=t-9]"]


@pytest.mark.parametrize(
    ("argv", "kind"),
    [
        (["/v/bin/uvicorn", "config.asgi:application"], "web"),
        (["/v/site-packages/uvicorn/__main__.py", "config.asgi:application"], "web"),
        (["/v/site-packages/celery/__main__.py", "-q", "-A", "config", "worker"], "worker"),
        (["/v/bin/celery", "-A", "config", "beat"], "beat"),
        (["/p/registry/sandbox/service/__main__.py"], "sandbox"),
        (["manage.py", "migrate"], "migrate"),
        ([], "python"),
    ],
)
def test_a_process_knows_what_it_is(argv: list[str], kind: str) -> None:
    assert process_kind(argv) == kind


@pytest.mark.parametrize(
    "given", ["", "short", "with space in it", "x" * 65, "bad\nid-12345", "ä" * 9]
)
def test_an_id_of_a_request_that_is_not_well_formed_is_replaced(given: str) -> None:
    assert exchange_of(given).request_id != given


def test_a_well_formed_id_of_a_request_is_taken_over() -> None:
    assert exchange_of("proxy-1234.abc_9").request_id == "proxy-1234.abc_9"


def test_a_log_format_that_there_is_not_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOG_FORMAT", "xml")
    with pytest.raises(ValueError, match="must be json or plain"):
        logs.log_format()
