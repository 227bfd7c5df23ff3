"""Pictures and sounds of answers: what is shown, and what a model reads of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from chat.answers import Answer
from registry.context import CallContext
from registry.execution import invoke
from registry.executors.base import Output
from registry.loading import load_spec
from registry.media import MEDIA_BUDGET, media_in, without_media
from registry.models import Invocation
from registry.models.invocation import Caller
from tests.factories import make_tool

if TYPE_CHECKING:
    from django.contrib.auth.models import User

PIXEL = "iVBORw0KGgo="


def block(kind: str = "image", data: str = PIXEL, media_type: str = "image/png") -> dict[str, Any]:
    return {"type": kind, "data": data, "mimeType": media_type}


def test_a_picture_is_shown_by_an_address_that_holds_it() -> None:
    (found,) = media_in({"content": [{"type": "text", "text": "Here"}, block()]})
    assert found.source == f"data:image/png;base64,{PIXEL}"
    assert found.label == "image/png image, 8 bytes"


@pytest.mark.parametrize(
    "odd",
    [
        block(media_type="image/svg+xml"),
        block(media_type="text/html"),
        block(kind="audio"),
        block(data="not base64!"),
        block(data='x" onerror="alert(1)'),
        block(data="A" * (MEDIA_BUDGET + 4)),
        {"type": "image"},
        {"type": ["image"], "data": PIXEL, "mimeType": "image/png"},
        "text",
    ],
)
def test_what_a_browser_should_not_get_is_not_shown(odd: Any) -> None:
    assert media_in({"content": [odd]}) == []


def test_the_same_picture_in_value_and_details_is_shown_once() -> None:
    assert len(media_in({"content": [block()]}, {"content": [block()]}, None, "text", [1])) == 1


def test_a_model_reads_what_it_is_and_how_large() -> None:
    blob = {"type": "resource", "resource": {"uri": "a://b", "blob": "aGk=", "mimeType": "a/b"}}
    worded = without_media({"content": [block(), blob, "odd"], "isError": False})
    assert worded["content"][0]["data"] == "(image/png image, 8 bytes: not shown as text)"
    assert worded["content"][1]["resource"]["blob"] == "(a/b file, 2 bytes: not shown as text)"
    assert worded["content"][2] == "odd"


def test_the_model_gets_words_and_the_conversation_keeps_the_picture() -> None:
    large = "A" * 400_000
    answer = Answer(
        status="succeeded",
        value={"content": [block(data=large)], "isError": False},
        details={"content": [block(data=large)], "logs": []},
    )
    assert large not in answer.for_model()
    assert (
        "300 kB: not shown as text"
        in json.loads(answer.for_model())["output"]["content"][0]["data"]
    )
    record = answer.for_record()
    assert record["media"] == [block(data=large)]
    assert large not in json.dumps([record["output"], record["details"]])


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The data of the picture that every tool answers with."""
    data = [PIXEL]

    class Drawing:
        def execute(self, spec: Any, arguments: Any, context: Any) -> Output:
            return Output(value={"content": [block(data=data[-1])]})

    monkeypatch.setattr("registry.execution.executor_for", lambda kind: Drawing())
    return data


@pytest.mark.django_db
def test_the_page_of_a_call_shows_its_pictures(
    alice: User, client_for: Any, drawn: list[str]
) -> None:
    context = CallContext(user=alice, caller=Caller.BROWSER)
    ran = invoke(load_spec(make_tool()), {"text": "x"}, context)
    page = client_for(alice).get(f"/invocations/{ran.invocation_id}/").content.decode()
    assert page.count(PIXEL) == 1
    assert f'<img src="data:image/png;base64,{PIXEL}"' in page
    assert "not shown as text" in page


@pytest.mark.django_db
def test_a_picture_that_is_too_large_for_a_row_is_kept_in_words(
    alice: User, drawn: list[str]
) -> None:
    drawn.append("A" * 100_000)
    invoke(load_spec(make_tool()), {"text": "x"}, CallContext(user=alice, caller=Caller.BROWSER))
    kept = Invocation.objects.get().output
    assert "image/png image, 75 kB" in kept["content"][0]["data"]
