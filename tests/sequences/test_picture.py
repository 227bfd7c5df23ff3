"""The picture of a sequence shows its branches, loops and skips, and where data goes."""

import copy
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse
from hypothesis import given, settings
from hypothesis import strategies as st

from sequences.outline import END, START
from sequences.picture import flow_picture
from sequences.picture_parts import Box, Picture
from tests.sequences import workshop

NAMES = {"t1": "fetch_url", "t2": "summarize"}


def source(step: str, path: str = "") -> dict[str, Any]:
    return {"source": "previousStep", "step": step, "path": path}


FLOW: dict[str, Any] = {
    "format": 1,
    "steps": [
        {
            "stepNumber": 1,
            "key": "fetch",
            "title": "Fetch the pages",
            "toolToRunId": "t1",
            "storeOutputAs": "pages",
            "inputMapping": {"url": {"source": "initialInput", "key": "url"}},
        },
        {
            "stepNumber": 2,
            "toolToRunId": "t2",
            "storeOutputAs": "sums",
            "forEach": {"items": source("pages", "list")},
            "when": "size(steps.pages.list) > 0",
            "inputMapping": {"text": {"source": "item"}, "n": source("pages", "n")},
        },
        {
            "stepNumber": 3,
            "toolToRunId": "t1",
            "storeOutputAs": "left",
            "parallel": {"group": "g", "branch": "a"},
            "inputMapping": {"x": {"source": "template", "value": "{{ steps.sums[0] }}"}},
        },
        {
            "stepNumber": 4,
            "toolToRunId": "t1",
            "parallel": {"group": "g", "branch": "a"},
        },
        {
            "stepNumber": 5,
            "toolToRunId": "t2",
            "storeOutputAs": "right",
            "parallel": {"group": "g", "branch": "b"},
        },
        {
            "stepNumber": 6,
            "approval": {"title": "Send it?", "message": "{{ steps.right }}"},
            "storeOutputAs": "asked",
        },
        {"stepNumber": 7, "toolToRunId": "t1", "disabled": True},
    ],
    "finalOutputMapping": {"all": {"source": "expression", "value": "[steps.left, steps.right]"}},
}


def drawn(definition: Any = FLOW, **options: Any) -> tuple[Picture, dict[int, Box]]:
    picture = flow_picture(definition, NAMES, **options)
    return picture, {box.number: box for box in picture.boxes}


def test_steps_stand_below_one_another_from_the_input_to_the_output():
    _, boxes = drawn()
    assert [box.number for box in sorted(boxes.values(), key=lambda box: box.y)] == [
        *(START, 1, 2, 3, 5, 4, 6, 7, END)
    ]
    assert boxes[1].middle == boxes[2].middle == boxes[START].middle == boxes[END].middle


def test_branches_stand_beside_one_another():
    _, boxes = drawn()
    assert boxes[3].y == boxes[5].y
    assert boxes[3].right < boxes[5].x
    assert boxes[4].x == boxes[3].x
    assert boxes[4].y > boxes[3].bottom
    assert boxes[6].y > boxes[4].bottom


def test_two_branches_fit_a_small_screen():
    assert drawn()[0].width <= 375


def test_a_box_says_what_its_step_is():
    _, boxes = drawn()
    assert (boxes[1].name, boxes[1].note) == ("1 Fetch the pages", "fetch_url")
    assert (boxes[2].name, boxes[2].note) == ("2 summarize", "")
    assert boxes[2].loops
    assert [icon.kind for icon in boxes[2].icons] == ["condition", "loop"]
    assert [icon.kind for icon in boxes[6].icons] == ["approval"]
    assert boxes[7].state == "is-off"
    assert boxes[2].label == (
        "Step 2, calls summarize; for each item of a list; "
        "only if size(steps.pages.list) > 0; takes condition, loop, n from step 1."
    )
    assert boxes[6].label == "Step 6: Send it?, asks a person; takes question from step 5."


def test_what_is_long_is_cut_and_told_in_full():
    data = copy.deepcopy(FLOW)
    data["steps"][0]["title"] = "Fetch " + "very " * 10 + "long pages"
    box = drawn(data)[1][1]
    assert box.name.endswith("…")
    assert data["steps"][0]["title"] in box.label


def test_lines_tell_where_data_goes_and_what_is_left_out():
    picture, _ = drawn()
    told = {line.title for line in picture.lines if line.kind == "data"}
    assert told == {
        "url of step 1 from the input",
        "condition, loop, n of step 2 from step 1",
        "x of step 3 from step 2",
        "question of step 6 from step 5",
        "all of the output from step 3",
        "all of the output from step 5",
    }
    skips = [line.title for line in picture.lines if line.kind == "skip"]
    assert skips == ["Step 2 is left out unless size(steps.pages.list) > 0"]


def test_a_box_leads_to_its_step_and_is_coloured_by_its_mark():
    _, boxes = drawn(marks={1: "succeeded", 7: "skipped"})
    assert (boxes[1].href, boxes[2].href) == ("#step-fetch", "#step-2")
    assert (boxes[1].state, boxes[7].state) == ("is-succeeded", "is-skipped is-off")
    assert drawn(link="")[1][1].href == ""


def test_a_tool_without_a_name_is_told_as_typed_but_never_as_an_id():
    ids = "0b7e2f3a-1c2d-4e5f-8a9b-0c1d2e3f4a5b"
    steps = [{"toolToRunId": "typed"}, {"toolToRunId": ids}, {"toolToRunId": ""}, {}]
    _, boxes = drawn({"steps": steps})
    names = [boxes[number].name for number in (1, 2, 3, 4)]
    assert names == ["1 typed", "2 unknown tool", "3 no tool yet", "4 no tool yet"]


@pytest.mark.parametrize("data", [None, [], 3, {}, {"steps": None}, {"steps": [None, 1, "a"]}])
def test_what_is_no_sequence_yet_is_drawn_all_the_same(data):
    assert {START, END} <= drawn(data)[1].keys()


PLACES = st.sampled_from(
    [
        "stepNumber",
        "key",
        "title",
        "toolToRunId",
        "storeOutputAs",
        "forEach",
        "when",
        "inputMapping",
        "parallel",
        "approval",
        "disabled",
    ]
)
JUNK = st.none() | st.integers() | st.text(max_size=5) | st.just([]) | st.just({"a": {"source": 1}})


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), PLACES, JUNK), max_size=8))
def test_no_broken_field_keeps_it_from_being_drawn(changes):
    data = copy.deepcopy(FLOW)
    for index, place, junk in changes:
        data["steps"][index][place] = junk
    picture, boxes = drawn(data)
    assert boxes.keys() == {START, END, *range(1, 8)}
    for box in boxes.values():
        assert 0 <= box.x < box.right <= picture.width
        assert 0 <= box.y < box.bottom <= picture.height


def test_the_template_has_no_style_and_escapes_what_is_typed():
    data = copy.deepcopy(FLOW)
    data["steps"][0] |= {"title": "<b>x</b>", "when": "'<i>' != ''", "key": '"><i>'}
    html = render_to_string("sequences/_flow.html", {"picture": drawn(data)[0]})
    assert "<b>" not in html
    assert "<i>" not in html
    assert not re.search(r"\sstyle=|<script", html)
    assert html.count("<a ") == 7


@pytest.mark.django_db
def test_the_page_of_a_tool_shows_its_steps(client: Client, alice: User) -> None:
    echo = workshop.make("echo")
    tool = workshop.sequence_of(alice, workshop.step(echo, title="Say it again"))
    client.force_login(alice)
    page = client.get(reverse("registry:tool_detail", args=[tool.pk])).content.decode()
    assert "Step 1: Say it again, calls echo." in page
