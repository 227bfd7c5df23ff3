"""Several processes find the same: one that forks, one that starts from what another kept."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.conf import settings
from django.db import connection

from registry.models.package import ReviewStatus
from registry.services import tool_delete, tool_review
from tests.factories import make_builtin, make_tool
from tests.live import environment, eventually

pytestmark = pytest.mark.django_db(transaction=True)

NEED = "send a postcard"


@contextmanager
def searcher(*arguments: str) -> Iterator[Any]:
    """Start a process that searches; give a function that asks it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.registry.search.searcher", *arguments],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def ask(need: str) -> list[str]:
        assert process.stdin and process.stdout
        process.stdin.write(f"{need}\n")
        process.stdin.flush()
        answer: list[str] = json.loads(process.stdout.readline())
        return answer

    try:
        yield ask
    finally:
        process.communicate(timeout=60)
    assert process.returncode == 0


@pytest.fixture
def postcard():
    make_builtin("calculator")
    return make_tool(wire_name="send_postcard", title="Send a postcard", description=NEED)


@pytest.mark.parametrize("arguments", [(), ("fork",)], ids=["started", "forked"])
def test_what_happens_here_is_soon_found_or_gone_there(alice, postcard, arguments):
    with searcher("alice", *arguments) as ask:
        assert ask(NEED) == ["send_postcard"]
        make_tool(wire_name="write_postcard", title="Write a postcard", description=NEED)
        eventually(lambda: len(ask(NEED)) == 2)
        tool_review(postcard, status=ReviewStatus.QUARANTINED)
        assert ask(NEED) == ["write_postcard"]


def test_a_process_starts_from_what_another_kept_and_knows_what_changed_since(alice, postcard):
    path = settings.SEARCH_INDEX_DIR / f"{connection.settings_dict['NAME']}.index"
    path.unlink(missing_ok=True)
    with searcher("alice") as ask:
        assert ask(NEED) == ["send_postcard"]
        eventually(path.exists, what="the keeping of the index")
    kept = path.stat().st_mtime_ns
    tool_delete(postcard)
    make_tool(wire_name="write_postcard", title="Write a postcard", description=NEED)
    with searcher("alice") as ask, searcher("alice") as ask_another:
        assert ask(NEED) == ask_another(NEED) == ["write_postcard"]
    assert path.stat().st_mtime_ns == kept
    assert not list(path.parent.glob(f"{path.name}.*"))
