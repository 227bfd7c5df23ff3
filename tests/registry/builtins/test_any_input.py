"""Whatever fits a tool's schema ends in an answer that fits its output schema, or in a refusal."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from config.lib.types import JsonObject, JsonValue
from registry.builtins import BUILTINS
from registry.errors import ToolInputRejected
from registry.schemas import canonical_json, validate_arguments

LONGEST = 200
"""Characters of a generated text; the long ones are in the table below."""

every_tool = pytest.mark.parametrize("name", sorted(BUILTINS))
syntax = st.text("0123456789+-*/%^().,!eEpixX ×÷{}[]|@&?:<>\"'`\\#$_\n\t;abcmsz", max_size=LONGEST)
anything = st.text(st.characters(codec=None), max_size=LONGEST)


def values(shape: JsonObject) -> st.SearchStrategy[JsonValue]:
    """Return a strategy for what fits the schema of one argument."""
    if "enum" in shape:
        return st.sampled_from(shape["enum"])
    match shape["type"]:
        case "string":
            least, most = shape.get("minLength", 0), shape["maxLength"]
            known = st.sampled_from(shape.get("examples", ["a"]))
            return (anything | syntax | known).filter(lambda text: least <= len(text) <= most)
        case "integer":
            whole = st.integers(shape["minimum"], shape["maximum"])
            # To JSON Schema 5.0 is an integer.
            return whole | whole.filter(lambda n: abs(n) < 2**53).map(float)
        case "number":
            return st.floats(shape["minimum"], shape["maximum"]) | st.integers(-(10**9), 10**9)
        case "boolean":
            return st.booleans()
        case "array":
            least, most = shape.get("minItems", 0), min(shape["maxItems"], 10)
            return st.lists(values(shape["items"]), min_size=least, max_size=most)
    raise AssertionError(f"no strategy for {shape}")


def arguments_for(schema: Any) -> st.SearchStrategy[JsonObject]:
    """Return a strategy for arguments that fit an input schema."""
    required = schema["required"]
    shapes = {name: values(shape) for name, shape in schema["properties"].items()}
    return st.fixed_dictionaries(
        {name: shape for name, shape in shapes.items() if name in required},
        optional={name: shape for name, shape in shapes.items() if name not in required},
    )


def answer(name: str, arguments: JsonObject) -> JsonValue:
    """Run a tool and check that its answer fits its output schema and is JSON."""
    tool = BUILTINS[name]
    result = tool.run(validate_arguments(tool.input_schema, arguments))
    Draft202012Validator(tool.output_schema).validate(result)
    canonical_json(result)
    return result


@every_tool
@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_fits_the_schema_is_answered_or_refused(name: str, data: st.DataObject) -> None:
    arguments = data.draw(arguments_for(BUILTINS[name].input_schema))
    try:
        answer(name, arguments)
    except ToolInputRejected as refusal:
        assert refusal.message
        assert refusal.hint


DOUBLING = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(24)}
OBJECTS = json.dumps([{"a": n} for n in range(7_000)])


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("calculator", {"expression": "9**9**9"}),
        ("calculator", {"expression": "factorial(factorial(9))"}),
        ("calculator", {"expression": "5" + "!" * 900}),
        ("calculator", {"expression": "1e999999999"}),
        ("calculator", {"expression": "(" * 1_000}),
        ("calculator", {"expression": "-" * 999 + "1"}),
        ("calculator", {"expression": "1/0"}),
        ("calculator", {"expression": "(1).__class__"}),
        ("calculator", {"expression": "__import__('os')"}),
        ("regex_extract", {"pattern": "(a+)+$", "text": "a" * 5_000 + "!"}),
        ("regex_extract", {"pattern": "(((a{1000}){1000}){1000})", "text": "a"}),
        ("regex_extract", {"pattern": "(?:a{30000}|b){30000}", "text": "a"}),
        ("regex_extract", {"pattern": "(?R)", "text": "a"}),
        ("regex_extract", {"pattern": "(?=(.*))", "text": "a" * 100_000}),
        ("regex_extract", {"pattern": "(" * 400 + ")" * 400, "text": "a"}),
        ("json_query", {"document": "[1]", "query": "|".join(["[@,@,@]"] * 60)}),
        ("json_query", {"document": "[1]", "query": "|".join(["[@,@,@,@][]"] * 30)}),
        ("json_query", {"document": '"a"', "query": "|".join(["join(@,[@,@,@])"] * 20)}),
        ("json_query", {"document": "[" * 100_000, "query": "@"}),
        ("json_query", {"document": "[" * 900 + "]" * 900, "query": "@"}),
        ("json_query", {"document": "[1e308, 1e308]", "query": "sum(@)"}),
        ("json_validate", {"document": "1", "schema": '{"$ref": "#"}'}),
        ("json_validate", {"document": "1", "schema": '{"$ref": "http://127.0.0.1:9/x"}'}),
        ("json_validate", {"document": "1", "schema": '{"type": 5}'}),
        ("json_validate", {"document": '"a"', "schema": '{"pattern": "("}'}),
        (
            "json_validate",
            {"document": f'"{"a" * 5_000}!"', "schema": '{"pattern": "(a+)+$"}'},
        ),
        (
            "json_validate",
            {
                "document": "1",
                "schema": json.dumps({"$ref": "#/$defs/d0", "$defs": {**DOUBLING, "d24": {}}}),
            },
        ),
        ("replace_text", {"text": "a" * 100_000, "find": "a", "replacement": "b" * 10_000}),
        ("csv_parse", {"text": ",".join(["a"] * 400) + "\n1" * 5_000, "limit": 1_000}),
        ("convert_units", {"value": 1, "from": "m**9**9", "to": "m"}),
        ("convert_units", {"value": 1, "from": "kg", "to": "meter"}),
        ("convert_units", {"value": -300, "from": "C", "to": "F"}),
        ("convert_units", {"value": 1, "from": "USD", "to": "EUR"}),
        ("current_time", {"timezone": "../../etc/passwd"}),
        ("date_add", {"date": "9999-12-31", "days": 1}),
        ("date_add", {"date": "May 5"}),
        ("generate_uuid", {"name": "\ud800"}),
    ],
)
def test_what_would_run_away_is_refused(name: str, arguments: JsonObject) -> None:
    with pytest.raises(ToolInputRejected) as refusal:
        answer(name, arguments)
    assert refusal.value.hint


def test_a_schema_inside_a_schema_cannot_lift_the_limits() -> None:
    dialect = "https://json-schema.org/draft/2020-12/schema"
    schema = {"allOf": [{"$schema": dialect, "pattern": "(a+)+$"}]}
    with pytest.raises(ToolInputRejected):
        answer("json_validate", {"document": f'"{"a" * 5_000}!"', "schema": json.dumps(schema)})


def test_many_unique_items_are_told_apart_without_comparing_every_pair() -> None:
    result = answer("json_validate", {"document": OBJECTS, "schema": '{"uniqueItems": true}'})
    assert result == {"valid": True, "problems": []}


def test_a_default_in_the_schema_does_not_stand_in_for_a_missing_value() -> None:
    schema = {"required": ["a"], "properties": {"a": {"default": 1}}}
    result = answer("json_validate", {"document": "{}", "schema": json.dumps(schema)})
    assert not result["valid"]


@pytest.mark.parametrize(
    ("source", "target", "value"),
    [("Mb", "MB", 0.125), ("m2", "cm²", 10_000), ("F", "C", -17.2222222222)],
)
def test_a_unit_means_what_people_mean_by_it(source: str, target: str, value: float) -> None:
    result = answer("convert_units", {"value": 1, "from": source, "to": target})
    assert result["result"] == pytest.approx(value)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("17*23", 391),
        ("0.1+0.2", 0.3),
        ("(1,250 + 80) / 7", 190),
        ("max(1,234)", 234),
        ("15% of 240", 36),
        ("2^10", 1024),
        ("-2**2", -4),
        ("2**3**2", 512),
        ("3 × 4 ÷ 2", 6),
        ("sqrt(2)**2", 2),
        ("round(2.5)", 3),
        ("sin(pi)", 0),
        ("7 // 2 + 7 % 2", 4),
    ],
)
def test_the_calculator_is_exact(expression: str, value: float) -> None:
    assert answer("calculator", {"expression": expression})["result"] == value
