"""Steps that ask, repeat, branch and fall back: their shape, and what holds between them."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sequences.definition import DefinitionInvalid, Problem, parse, to_json

NAMES = st.from_regex(r"\A[A-Za-z_][A-Za-z0-9_]{0,10}\Z")
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return objects that have any of these fields."""
    return st.fixed_dictionaries({}, optional=fields)


def has(required: dict[str, Any], **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(required, optional=fields)


SOURCES = st.one_of(
    has({"source": st.just("initialInput")}, key=st.none() | TEXTS),
    has({"source": st.just("static"), "value": VALUES}),
    has({"source": st.just("previousStep"), "step": NAMES}, path=TEXTS),
    has({"source": st.just("template"), "value": TEXTS}),
    has({"source": st.just("expression"), "value": TEXTS}),
    has({"source": st.just("item")}, path=TEXTS),
)
COMMON = {
    "title": TEXTS,
    "outputDisplaySuccess": TEXTS,
    "continueOnFailure": st.booleans(),
    "timeoutSeconds": st.integers(1, 300),
    "when": st.none() | TEXTS.filter(bool),
    "fallback": st.none() | has({"value": VALUES}),
    "disabled": st.booleans(),
}
CALLS = has(
    {"toolToRunId": TEXTS.filter(bool)},
    **COMMON,
    toolVersion=st.none() | st.integers(1, 9),
    inputMapping=st.dictionaries(TEXTS, SOURCES, max_size=3),
    forEach=st.none()
    | has({"items": SOURCES}, parallel=st.integers(1, 8), maxItems=st.integers(1, 1000)),
    retry=st.none()
    | has(
        {"attempts": st.integers(1, 10)},
        backoffSeconds=st.floats(0, 60),
        backoffFactor=st.floats(1, 10),
    ),
    repeatable=st.booleans(),
)
ASKS = has(
    {
        "approval": some(
            title=TEXTS,
            message=TEXTS,
            inputSchema=st.none() | st.dictionaries(TEXTS, VALUES, max_size=2),
            onRejected=st.sampled_from(["fail", "continue"]),
            expiresAfterSeconds=st.none() | st.integers(60, 90 * 86_400),
        )
    },
    **COMMON,
)


@st.composite
def definitions(draw: st.DrawFn) -> dict[str, Any]:
    steps = draw(st.lists(CALLS | ASKS, min_size=1, max_size=5))
    keys = draw(st.lists(NAMES, min_size=len(steps), max_size=len(steps), unique=True))
    for number, (step, key) in enumerate(zip(steps, keys, strict=True), 1):
        step.update({"stepNumber": number})
        step.update(draw(some(key=st.just(key), storeOutputAs=st.just(key))))
    data: dict[str, Any] = {"format": 1, "steps": steps}
    data |= draw(some(maxConcurrentRuns=st.none() | st.integers(1, 1000)))
    final = st.none() | st.dictionaries(TEXTS, SOURCES, min_size=1, max_size=2)
    return data | draw(some(finalOutputMapping=final))


@settings(max_examples=150, deadline=None)
@given(definitions())
def test_every_definition_survives_the_way_to_json_and_back(data):
    definition = parse(data)
    saved = to_json(definition)
    assert parse(saved) == definition
    assert to_json(parse(saved)) == saved


def problems_of(*steps: dict[str, Any], **fields: Any) -> list[Problem]:
    numbered = [{"stepNumber": n, **step} for n, step in enumerate(steps, 1)]
    with pytest.raises(DefinitionInvalid) as caught:
        parse({"format": 1, "steps": numbered, **fields})
    return caught.value.problems


CALL = {"toolToRunId": "t"}
ASK: dict[str, Any] = {"approval": {"title": "Go on?"}}


def branch(group: str, name: str = "a") -> dict[str, Any]:
    return {**CALL, "parallel": {"group": group, "branch": name}}


@pytest.mark.parametrize(
    ("step", "field", "said"),
    [
        ({}, "toolToRunId", "Choose a tool for this step, or let it ask a person"),
        ({**CALL, **ASK}, "approval", "A step calls a tool or asks a person, not both"),
        ({**ASK, "toolVersion": 2}, "toolVersion", "a version is for a step that calls a tool"),
        ({**ASK, "retry": {"attempts": 2}}, "retry", "further attempts are for a step"),
        ({**ASK, "repeatable": True}, "repeatable", "for a step that calls a tool"),
        (
            {**ASK, "inputMapping": {"a": {"source": "static", "value": 1}}},
            "inputMapping",
            "inputs are for a step that calls a tool",
        ),
        (
            {**ASK, "forEach": {"items": {"source": "initialInput"}}},
            "forEach",
            "a loop is for a step that calls a tool",
        ),
        ({"approval": {"onRejected": "stop"}}, "approval.onRejected", "'fail' or 'continue'"),
        ({"approval": {"expiresAfterSeconds": 5}}, "approval.expiresAfterSeconds", "at least 60"),
        ({"approval": {"form": {}}}, "approval.form", "Known: title, message, inputSchema"),
        ({"approval": {"inputSchema": []}}, "approval.inputSchema", "must be an object"),
    ],
)
def test_a_step_calls_a_tool_or_asks_a_person(step, field, said):
    (problem,) = problems_of(step)
    assert (problem.step, problem.field) == (1, field)
    assert said in problem.message


def test_two_steps_cannot_have_one_key():
    (problem,) = problems_of({**CALL, "key": "a"}, {**CALL, "key": "a"})
    assert (problem.step, problem.field) == (2, "key")
    assert "Step 1 already has the key “a”" in problem.message


def test_the_branches_of_a_group_stand_together():
    (problem,) = problems_of(branch("g"), branch("g", "b"), CALL, branch("g"))
    assert (problem.step, problem.field) == (4, "parallel.group")
    assert "The branches “g” ended at step 2" in problem.message


def test_two_blocks_may_follow_one_another():
    steps = [branch("g"), branch("g", "b"), branch("h"), branch("h", "b"), CALL]
    numbered = [{"stepNumber": n, **step} for n, step in enumerate(steps, 1)]
    assert len(parse({"format": 1, "steps": numbered}).steps) == 5


def test_at_most_eight_branches_run_at_the_same_time():
    (problem,) = problems_of(*(branch("g", f"b{n}") for n in range(9)))
    assert (problem.step, problem.field) == (1, "parallel.group")
    assert "“g” has 9 branches; at most 8" in problem.message


@pytest.mark.parametrize("most", [0, 1001, "3"])
def test_the_number_of_runs_at_a_time_is_bounded(most):
    (problem,) = problems_of(CALL, maxConcurrentRuns=most)
    assert (problem.step, problem.field) == (None, "maxConcurrentRuns")
