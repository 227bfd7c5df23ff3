"""How the tools among a package's exports are found and described."""

import pytest

from registry.errors import ToolFailed
from registry.sandbox.client import Artifact, Description, LocalSandbox, ToolDescription

pytestmark = pytest.mark.sandbox

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


@pytest.fixture
def tools(shapes_description: Description) -> dict[str, ToolDescription]:
    return {tool.export: tool for tool in shapes_description.tools}


@pytest.fixture
def problems(shapes_description: Description) -> dict[str, str]:
    return {problem.export: problem.message for problem in shapes_description.problems}


def test_every_kind_of_export_that_is_a_tool_is_found(tools: dict[str, ToolDescription]) -> None:
    assert sorted(tools) == [
        *("alias", "callable", "factory()", "lateSchema", "older", "tools.inMap"),
        *("wrapped", "zod3"),
    ]


def test_two_names_of_one_tool_are_one_tool(tools: dict[str, ToolDescription]) -> None:
    assert tools["alias"].description == "plain"
    assert tools["alias"].aliases == ("plain", "default", "tools.plain")


@pytest.mark.parametrize("export", ["alias", "wrapped", "lateSchema", "older", "factory()"])
def test_a_schema_is_given_as_it_is_without_its_dialect(
    tools: dict[str, ToolDescription], export: str
) -> None:
    assert tools[export].input_schema == TEXT


def test_a_zod_3_schema_is_converted_without_the_ai_sdk(tools: dict[str, ToolDescription]) -> None:
    assert tools["zod3"].input_schema == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 2, "description": "Who"},
            "age": {"type": "integer"},
            "mode": {"type": "string", "enum": ["a", "b"], "default": "a"},
        },
        "required": ["name"],
        "additionalProperties": False,
    }


def test_what_cannot_be_described_is_a_problem_not_a_failure(problems: dict[str, str]) -> None:
    assert problems["bare"] == "It has `execute` but no input schema."
    assert problems["unreadable"].startswith("Its schema cannot be read")
    assert problems["needsKey()"] == "SHAPES_KEY is not set"


def test_helpers_classes_and_constants_are_neither_tools_nor_problems(
    tools: dict[str, ToolDescription], problems: dict[str, str]
) -> None:
    for export in ("helper", "Client", "VERSION"):
        assert not any(name.startswith(export) for name in (*tools, *problems))


@pytest.mark.parametrize(
    ("export", "output"),
    [
        ("alias", "plain: x"),
        ("default", "plain: x"),
        ("tools.inMap", "in a map: x"),
        ("callable", "callable: x"),
        ("factory()", "made for nobody: x"),
    ],
)
def test_what_is_described_can_be_called_by_that_name(
    sandbox: LocalSandbox, shapes: Artifact, export: str, output: str
) -> None:
    answer = sandbox.call(artifact=shapes.artifact, export=export, arguments={"text": "x"}, env={})
    assert answer.output == output


def test_a_factory_sees_the_environment_of_the_call(
    sandbox: LocalSandbox, shapes: Artifact
) -> None:
    def call(env: dict[str, str]) -> object:
        return sandbox.call(
            artifact=shapes.artifact, export="needsKey()", arguments={"text": "x"}, env=env
        ).output

    assert call({"SHAPES_KEY": "k"}) == "keyed: x"
    with pytest.raises(ToolFailed, match="SHAPES_KEY is not set"):
        call({})
