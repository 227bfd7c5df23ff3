"""A display text shows what it can and never fails a run."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sequences.definition import Step, parse
from sequences.display import MAX_LENGTH, display_failure, display_success

CONTEXT: dict[str, Any] = {"initial": {"name": "Ada"}, "steps": {"a": {"n": 1}}}
ERROR = {"code": "tool_failed", "message": "No {{ luck }}"}


def step(success: str = "", failure: str = "") -> Step:
    fields = {"outputDisplaySuccess": success, "outputDisplayFailure": failure}
    data = {"format": 1, "steps": [{"stepNumber": 1, "toolToRunId": "t", **fields}]}
    return parse(data).steps[0]


def succeeded(template: str, result: Any = None) -> str:
    return display_success(step(template), context=CONTEXT, inputs={"q": "x"}, result=result)


def test_a_text_shows_the_result_the_input_and_the_context():
    template = "{{ initial.name }} {{ steps.a.n }} {{ input.q }} {{ result.total }}"
    assert succeeded(template, {"total": 7}) == "Ada 1 x 7"


def test_a_failure_shows_its_error_and_a_message_is_never_taken_for_a_template():
    shown = display_failure(
        step(failure="{{ error.code }}: {{ error.message }}"),
        context=CONTEXT,
        inputs={},
        error=ERROR,
    )
    assert shown == "tool_failed: No {{ luck }}"


def test_a_blank_template_gives_a_plain_sentence():
    assert succeeded(" ") == "Step 1 succeeded."
    shown = display_failure(step(), context=CONTEXT, inputs={}, error=ERROR)
    assert shown == "Step 1 failed: No {{ luck }}"


def test_what_is_unknown_or_wrong_renders_as_nothing():
    assert succeeded("[{{ result.zz }}{{ a..b }}{{ length(initial) }}{{ nope(@) }}]", {}) == "[1]"
    assert succeeded("[{{ result }}]", {1, 2}) == "[]"
    assert succeeded("open {{ result") == "open {{ result"


def test_a_text_is_cut_and_can_be_stored():
    shown = succeeded("{{ result }}", "é" * 5_000)
    assert len(shown) == MAX_LENGTH
    assert shown.endswith("…")
    assert succeeded("{{ result }}", "a\0b\ud800") == "ab?"


@given(st.text(max_size=200), st.recursive(st.none() | st.floats() | st.text(), st.lists))
def test_no_template_and_no_result_fails(template, result):
    try:
        tried = step(template)
    except ValueError:
        return
    except Exception as error:
        assert type(error).__name__ == "DefinitionInvalid"
        return
    shown = display_success(tried, context=CONTEXT, inputs={}, result=result)
    assert len(shown.encode()) >= 0
