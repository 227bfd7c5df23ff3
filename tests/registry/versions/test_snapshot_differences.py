"""What changed of the rest of a tool: its request, its steps, its package, its words."""

from typing import Any

from registry.differences import differences, summary_of
from registry.differences.words import word_runs


def said(before: Any, after: Any, **options: Any) -> list[tuple[str, str, str]]:
    told = differences(before, after, **options)
    return [(item.path, item.effect.value, item.sentence) for item in told]


def step(tool: str, name: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"toolToRunId": tool, "storeOutputAs": name, "inputMapping": {}, **fields}


def sequence(*steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    numbered = [{**item, "stepNumber": number} for number, item in enumerate(steps, 1)]
    return {"definition": {"format": 1, "steps": numbered, **fields}}


def test_a_step_that_is_put_in_front_moves_none_of_the_others() -> None:
    before = sequence(step("t1", "a"), step("t2", "b"))
    after = sequence(step("t3", "c"), step("t1", "a"), step("t2", "b"))

    assert said(before, after, names={"t3": "calculator"}) == [
        ("$.steps[0]", "compatible", "Step 1 (calculator) is new.")
    ]


def test_a_step_that_changes_places_is_told_once() -> None:
    before = sequence(step("t1", "a"), step("t2", "b"), step("t3", "c"))
    after = sequence(step("t3", "c"), step("t1", "a"), step("t2", "b"))

    assert said(before, after) == [("$.steps[0]", "compatible", "Step 1 (t3) was step 3.")]


def test_what_a_step_is_given_is_told_by_where_it_comes_from() -> None:
    old = {"q": {"source": "initialInput", "key": "text"}}
    new = {"q": {"source": "previousStep", "step": "a", "path": "items[0]"}}
    before = sequence(step("t1", "a"), step("t2", "b", inputMapping=old))
    after = sequence(step("t1", "a"), step("t2", "b", inputMapping=new, toolVersion=2))

    assert said(before, after) == [
        (
            "$.steps[1].inputMapping.q",
            "compatible",
            "Step 2: the input “q” is “items[0]” of the output of “a”; "
            "it was “text” of the sequence's input.",
        ),
        ("$.steps[1].toolVersion", "compatible", "Step 2 uses version 2."),
    ]


def test_a_step_keeps_its_place_when_it_calls_another_tool() -> None:
    before, after = sequence(step("t1", "a")), sequence(step("t2", "a"))

    assert said(before, after, names={"t1": "one", "t2": "two"}) == [
        ("$.steps[0].toolToRunId", "compatible", "Step 1 calls two; it called one.")
    ]


def test_an_output_that_is_given_no_more_breaks_those_who_read_it() -> None:
    source = {"source": "previousStep", "step": "a"}
    before = sequence(step("t1", "a"), finalOutputMapping={"x": source, "y": source})
    after = sequence(step("t1", "a"), finalOutputMapping={"x": source})

    assert said(before, after) == [
        ("$.finalOutputMapping.y", "breaking", "The output “y” is not given any more.")
    ]


def test_the_parts_of_a_request_are_told_one_by_one() -> None:
    before = {
        "definition": {
            "method": "GET",
            "url": "https://a.example/x",
            "headers": {"Accept": "text/plain"},
            "auth": None,
            "response": {"path": ""},
        }
    }
    after = {
        "definition": {
            "method": "POST",
            "url": "https://b.example/x",
            "headers": {"Accept": "application/json"},
            "auth": {"type": "bearer", "env": "B_KEY"},
            "response": {"path": "data"},
        }
    }

    assert said(before, after) == [
        ("$.auth", "breaking", "The sign-in of the request is new. It reads B_KEY."),
        (
            "$.response.path",
            "breaking",
            "The answer is the part “data” of what comes back.",
        ),
        ("$.method", "compatible", "The request's method is “POST”; it was “GET”."),
        (
            "$.url",
            "compatible",
            "The address that it calls is “https://b.example/x”; it was “https://a.example/x”.",
        ),
        (
            "$.headers.Accept",
            "compatible",
            "“headers.Accept” is “application/json” now; it was “text/plain”.",
        ),
    ]


def test_a_variable_that_has_to_be_set_breaks_callers() -> None:
    def package(**fields: Any) -> dict[str, Any]:
        return {"package": {"ecosystem": "npm", "name": "p", "version": "1.0.0", **fields}}

    before = package(env=[{"name": "OLD"}, {"name": "MAY", "required": False}])
    after = package(env=[{"name": "MAY", "required": True}, {"name": "NEW"}], version="2.0.0")

    assert said(before, after) == [
        ("$.env.MAY", "breaking", "The variable MAY has to be set now."),
        ("$.env.NEW", "breaking", "The variable NEW is read now and has to be set."),
        ("$.version", "compatible", "The package's version is “2.0.0”; it was “1.0.0”."),
        ("$.env.OLD", "compatible", "The variable OLD is not read any more."),
    ]


def test_a_new_scope_is_breaking_and_other_words_are_not() -> None:
    before = {"required_scopes": [], "title": "One", "ai_agent": {"useCase": "x"}}
    after = {"required_scopes": ["crm:read"], "title": "Two", "ai_agent": {}}
    told = differences(before, after)

    assert [(item.path, item.effect.value) for item in told] == [
        ("$.required_scopes", "breaking"),
        ("$.title", "text"),
        ("$.ai_agent.useCase", "text"),
    ]
    assert summary_of(told).sentence == "1 breaking change, 2 changes of text"


def test_what_is_new_breaks_nobody_and_what_is_gone_does() -> None:
    snapshot = {
        "title": "T",
        "input_schema": {
            "type": "object",
            "properties": {"a": {"type": "string"}},
            "required": ["a"],
        },
        "required_scopes": ["x"],
    }

    assert {item.kind.value for item in differences(None, snapshot)} == {"added"}
    assert not any(item.is_breaking for item in differences(None, snapshot))
    assert [item.sentence for item in differences(snapshot, None)] == ["The tool is taken out."]
    assert differences(snapshot, snapshot) == []
    assert differences(None, None) == []


def test_long_values_are_told_in_short() -> None:
    before = {"input_schema": {"type": "object", "properties": {}}}
    after = {
        "input_schema": {
            "type": "object",
            "properties": {"a": {"type": "string", "enum": ["x" * 90] * 90}},
        }
    }
    (told,) = differences(before, after)

    assert told.after["truncated"] is True
    assert len(told.sentence) < 200


def test_the_words_of_a_text_are_marked_in_whole_pieces() -> None:
    runs = word_runs("Reads a page. Use it for plans of a week.", "Reads a page. Not for the sea.")

    assert [tuple(run) for run in runs] == [
        ("same", "Reads a page. "),
        ("deleted", "Use it for plans of a week"),
        ("inserted", "Not for the sea"),
        ("same", "."),
    ]
    assert word_runs("", "New.") == [("inserted", "New.")]
    assert word_runs("a " * 5_000, "b")[0].kind == "deleted"
