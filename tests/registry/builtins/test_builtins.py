"""What holds for every built-in tool."""

from types import ModuleType
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from config.lib.types import JsonObject
from registry.builtins import BUILTINS, calculator
from registry.builtins.definition import Builtin, collect
from registry.schemas import canonical_json, validate_arguments

EXAMPLES: dict[str, JsonObject] = {
    "calculator": {"expression": "17 * 23"},
    "change_case": {"text": "hello world", "case": "upper"},
    "convert_units": {"value": 1, "from": "mile", "to": "kilometer"},
    "count_text": {"text": "one two"},
    "csv_parse": {"text": "name,age\nAda,36"},
    "current_time": {},
    "date_add": {"date": "2026-01-31", "months": 1},
    "date_difference": {"start": "2026-01-01", "end": "2026-12-24"},
    "decode_text": {"text": "aGVsbG8="},
    "encode_text": {"text": "hello"},
    "format_date": {"date": "March 5, 2026"},
    "generate_password": {},
    "generate_uuid": {},
    "hash_text": {"text": "hello"},
    "json_query": {"document": '{"a": [1, 2]}', "query": "a[0]"},
    "json_validate": {"document": "{'a': 1}"},
    "random_choice": {"options": ["heads", "tails"]},
    "random_number": {},
    "regex_extract": {"text": "AB-1234", "pattern": "[A-Z]+-[0-9]+"},
    "replace_text": {"text": "a cat", "find": "cat", "replacement": "dog"},
    "reverse_text": {"text": "stressed"},
    "text_statistics": {"text": "One. Two three."},
    "trim_text": {"text": "  hello  "},
}
every_tool = pytest.mark.parametrize("tool", BUILTINS.values(), ids=lambda tool: tool.name)


def bounds_missing(shape: Any) -> bool:
    """Tell whether some text, list or number in an input schema has no upper bound."""
    needed = {"string": "maxLength", "array": "maxItems", "integer": "maximum", "number": "maximum"}
    inner = [*shape.get("properties", {}).values(), *([shape["items"]] if "items" in shape else [])]
    kind = shape.get("type")
    return (kind in needed and needed[kind] not in shape) or any(map(bounds_missing, inner))


def test_every_tool_has_an_example_here() -> None:
    assert EXAMPLES.keys() == BUILTINS.keys()


@every_tool
def test_its_schemas_are_valid_closed_and_bounded(tool: Builtin) -> None:
    for schema in (tool.input_schema, tool.output_schema):
        Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False
    assert not bounds_missing(tool.input_schema)


@every_tool
def test_it_says_what_it_is_for(tool: Builtin) -> None:
    assert len(tool.description) >= 40
    assert tool.title
    assert tool.category
    assert tool.ai_agent["useCase"]
    assert tool.ai_agent["limitations"]
    assert 3 <= len(set(tool.ai_agent["examples"])) <= 5


def test_no_two_tools_share_a_title_or_a_description() -> None:
    assert len({tool.title for tool in BUILTINS.values()}) == len(BUILTINS)
    assert len({tool.description for tool in BUILTINS.values()}) == len(BUILTINS)


@every_tool
def test_its_answer_fits_its_output_schema(tool: Builtin) -> None:
    answer = tool.run(validate_arguments(tool.input_schema, EXAMPLES[tool.name]))
    Draft202012Validator(tool.output_schema).validate(answer)
    canonical_json(answer)


@every_tool
def test_it_says_truly_whether_equal_arguments_give_equal_answers(tool: Builtin) -> None:
    arguments = validate_arguments(tool.input_schema, EXAMPLES[tool.name])
    if tool.deterministic:
        assert tool.run(arguments) == tool.run(arguments)
    else:
        assert tool.category in {"random", "datetime"}


def test_a_name_used_by_two_families_is_refused_with_both_named() -> None:
    twin = ModuleType("twin")
    twin.TOOLS = calculator.TOOLS  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match=r"registry\.builtins\.calculator and twin"):
        collect((calculator, twin))
