"""The guest of Python packages by itself: the protocol, outside the sandbox."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from registry.sandbox.paths import PROJECT

WORKER = PROJECT / "registry" / "sandbox" / "guest" / "python" / "worker.py"


@pytest.fixture
def ask(tmp_path: Path) -> Any:
    """Load a module in the guest, ask, and return the answers (and what it logged)."""
    (tmp_path / "src").mkdir()
    (tmp_path / "site").mkdir()

    def run(source: str, *requests: tuple[str, dict[str, Any]], **load: Any) -> list[Any]:
        (tmp_path / "src" / "mod.py").write_text(source)
        (tmp_path / "entry.json").write_text('{"entries": [{"module": "mod", "attribute": ""}]}')
        first = ("load", {"name": "mod", "env": {}, "options": {}, **load})
        lines = [
            json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            for number, (method, params) in enumerate([first, *requests])
        ]
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-B", str(WORKER), str(tmp_path)],
            input="\n".join(lines) + "\n",
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        assert all(answer["jsonrpc"] == "2.0" for answer in answers)
        return answers

    return run


def described(answers: list[Any]) -> dict[str, Any]:
    """Return the tools of a description by their names."""
    return {tool["export"]: tool for tool in answers[-1]["result"]["tools"]}


DESCRIBE = ("describe", {})


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        ("str", {"type": "string"}),
        ("float | None", {"anyOf": [{"type": "number"}, {"type": "null"}]}),
        ("list[int]", {"type": "array", "items": {"type": "integer"}}),
        ("set[str]", {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
        ("dict[str, bool]", {"type": "object", "additionalProperties": {"type": "boolean"}}),
        (
            "tuple[int, str]",
            {
                "type": "array",
                "prefixItems": [{"type": "integer"}, {"type": "string"}],
                "minItems": 2,
                "maxItems": 2,
            },
        ),
        ("t.Literal['a', 1]", {"enum": ["a", 1]}),
        (
            "t.Optional[dt.date]",
            {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
        ),
        ("str | bytes", {"type": "string"}),
        ("t.Annotated[int, Bounds()]", {"type": "integer", "minimum": 1, "description": "Count"}),
        ("Named", {"type": "integer"}),
        (
            "Typed",
            {
                "type": "object",
                "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
                "required": ["a"],
            },
        ),
        (
            "Tree",
            {
                "type": "object",
                "properties": {
                    "children": {"type": "array", "items": {"type": "object"}},
                },
                "required": ["children"],
            },
        ),
    ],
)
def test_an_annotation_becomes_json_schema(ask: Any, annotation: str, schema: Any) -> None:
    source = f"""
import dataclasses, datetime as dt, typing as t
class Bounds:
    ge = 1
    description = "Count"
Named = t.NewType("Named", int)
class Typed(t.TypedDict):
    a: int
    b: t.NotRequired[str]
@dataclasses.dataclass
class Tree:
    children: "list[Tree]"
def tool(value: {annotation}) -> None: ...
"""
    answers = ask(source, DESCRIBE)
    assert described(answers)["tool"]["inputSchema"]["properties"]["value"] == schema


@pytest.mark.parametrize(
    "docstring",
    [
        "Do it.\n\n    Args:\n        first (int): The first\n            of two.\n"
        "        second: Other.\n\n"
        "    Returns:\n        Nothing.\n    ",
        "Do it.\n\n    Parameters\n    ----------\n    first : int\n        The first\n"
        "        of two.\n    second\n        Other.\n\n    Returns\n    -------\n    None\n    ",
        "Do it.\n\n    :param int first: The first\n        of two.\n    :param second: Other.\n"
        "    :returns: Nothing.\n    ",
    ],
    ids=["google", "numpy", "sphinx"],
)
def test_docstrings_describe_parameters_in_three_styles(ask: Any, docstring: str) -> None:
    answers = ask(f'def tool(first, second: str = "x"):\n    """{docstring}"""\n', DESCRIBE)
    tool = described(answers)["tool"]
    assert tool["description"].startswith("Do it.")
    assert tool["inputSchema"]["properties"] == {
        "first": {"type": "integer", "description": "The first of two."},
        "second": {"type": "string", "description": "Other.", "default": "x"},
    }


def test_what_only_type_checkers_import_is_found(ask: Any) -> None:
    source = """
from __future__ import annotations
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from collections.abc import Sequence
    import not_there
    Number = int | float
def tool(values: Sequence[Number]) -> Number:
    return sum(values)
"""
    answers = ask(source, DESCRIBE, ("call", {"export": "tool", "arguments": {"values": [1, 2.5]}}))
    assert answers[1]["result"]["problems"] == []
    assert answers[2]["result"] == {"output": 3.5}


def test_only_public_functions_of_the_module_are_tools_unless_all_names_others(ask: Any) -> None:
    source = "from os.path import join\ndef a(): ...\ndef _b(): ...\n"
    assert set(described(ask(source, DESCRIBE))) == {"a"}
    assert set(described(ask(f"{source}__all__ = ['_b']\n", DESCRIBE))) == {"_b"}


def test_functions_beside_dynamic_tools_are_helpers(ask: Any) -> None:
    source = """
from dynamic_tool import DynamicTool
class Tool(DynamicTool):
    tool_name = "named"
    tool_description = "d"
    parameters_schema = {"type": "object"}
    def _run_async_impl(self, args, tool_context):
        return helper()
def helper():
    return "helped"
"""
    answers = ask(source, DESCRIBE, ("call", {"export": "named", "arguments": {}}))
    assert answers[1]["result"]["tools"][0]["aliases"] == ["Tool"]
    assert len(answers[1]["result"]["tools"]) == 1
    assert answers[2]["result"]["output"] == "helped"


def test_tools_come_from_a_list_and_from_get_tools(ask: Any) -> None:
    source = """
class Fake:
    args_schema = {"type": "object", "properties": {"q": {"type": "string"}}}
    def __init__(self, name):
        self.name, self.description = name, f"Is {name}"
    def invoke(self, arguments):
        return {"got": arguments, "by": self.name}
tools = [Fake("one")]
async def get_tools():
    return [Fake("two"), 3]
"""
    answers = ask(source, DESCRIBE, ("call", {"export": "two", "arguments": {"q": "x"}}))
    assert [tool["export"] for tool in answers[1]["result"]["tools"]] == ["one", "two"]
    assert answers[1]["result"]["problems"] == [
        {"export": "get_tools.1", "message": "It is a int, no tool."}
    ]
    assert answers[2]["result"]["output"] == {"got": {"q": "x"}, "by": "two"}


def test_a_tool_written_against_the_original_shape_alone_is_known_by_it(ask: Any) -> None:
    source = """
class Duck:
    def __init__(self, tool_config=None):
        self.config = tool_config
    def _get_declaration(self):
        return {"name": "quack", "description": "Quacks", "parameters": {
            "type": "OBJECT", "properties": {"n": {"type": "INTEGER", "nullable": True}}}}
    async def run_async(self, *, args, tool_context):
        return {"config": self.config, "n": args.get("n")}
"""
    call = ("call", {"export": "quack", "arguments": {"n": 2}})
    options = {"tool_config": {"a": ["${A}", "x${B}y", "${C:-d}", "${C, e}"]}}
    answers = ask(source, DESCRIBE, call, options=options, env={"B": "b"})
    schema = described(answers[:2])["quack"]["inputSchema"]
    assert schema == {"type": "object", "properties": {"n": {"type": ["integer", "null"]}}}
    assert answers[2]["result"]["output"] == {"config": {"a": [None, "xby", "d", "e"]}, "n": 2}


def test_a_configuration_model_refuses_without_repeating_the_value(ask: Any) -> None:
    source = """
from dynamic_tool import DynamicTool
class Wrong(Exception):
    def errors(self, **_):
        return [{"loc": ("timeout",), "msg": "not a number", "input": "s3cret"}]
class Config:
    @classmethod
    def model_validate(cls, value):
        raise Wrong("s3cret")
class Tool(DynamicTool):
    config_model = Config
    tool_name, tool_description, parameters_schema = "t", "d", {}
    async def _run_async_impl(self, args, tool_context, credential=None): ...
"""
    answers = ask(source, DESCRIBE)
    assert answers[1]["result"]["unavailable"] == [
        {"export": "Tool", "reason": "Its configuration does not fit: timeout: not a number."}
    ]
    assert "s3cret" not in json.dumps(answers)


def test_the_environment_is_set_before_the_module_is_imported(ask: Any) -> None:
    source = "import os\nKEY = os.environ['KEY']\ndef key() -> str:\n    return KEY\n"
    answers = ask(source, ("call", {"export": "key", "arguments": {}}), env={"KEY": "k"})
    assert answers[1]["result"]["output"] == "k"


def test_everything_printed_becomes_log_lines(ask: Any) -> None:
    source = """
import logging, sys, warnings
def talk() -> None:
    print("out", end="")
    print("err", file=sys.stderr)
    sys.stdout.buffer.write(b"raw\\n")
    logging.getLogger("x").info("info")
    sys.__stdout__.write("first\\n")
"""
    answers = ask(source, ("call", {"export": "talk", "arguments": {}}))
    logs = [answer["params"] for answer in answers if answer.get("method") == "log"]
    assert logs == [
        {"level": "error", "text": "err"},
        {"level": "log", "text": "outraw"},
        {"level": "info", "text": "x: info"},
        {"level": "log", "text": "first"},
    ]


@pytest.mark.parametrize(
    ("expression", "output"),
    [
        ("{1: (2, 3), None: True}", {"1": [2, 3], "null": True}),
        ("datetime.datetime(2020, 1, 2)", "2020-01-02T00:00:00"),
        ("{3, 1, 2}", [1, 2, 3]),
        ("decimal.Decimal('1.10')", "1.10"),
        ("pathlib.Path('/a')", "/a"),
        ("(n for n in 'ab')", ["a", "b"]),
        ("collections.namedtuple('P', 'x y')(1, 2)", {"x": 1, "y": 2}),
    ],
)
def test_answers_are_made_json(ask: Any, expression: str, output: Any) -> None:
    source = (
        f"import collections, datetime, decimal, pathlib\ndef tool():\n    return {expression}\n"
    )
    answers = ask(source, ("call", {"export": "tool", "arguments": {}}))
    assert answers[1]["result"]["output"] == output


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("float('inf')", "the number inf, which is no JSON"),
        ("[b'x']", r"bytes .* at \$\[0\]"),
        ("object()", "a value of type object"),
        ("10 ** 40", "a whole number of more than 29 digits"),
        ("{(1, 2): 3}", "a key of type tuple"),
    ],
)
def test_what_is_no_json_is_refused_by_name(ask: Any, expression: str, words: str) -> None:
    answers = ask(
        f"def tool():\n    return {expression}\n", ("call", {"export": "tool", "arguments": {}})
    )
    error = answers[1]["error"]
    assert error["code"] == -32003
    assert re.search(words, error["message"]), error


def test_a_host_that_cannot_be_reached_is_told_as_data(ask: Any) -> None:
    source = """
import asyncio, socket
def plain() -> None:
    socket.create_connection(("surely.invalid", 443))
async def soft() -> str:
    try:
        await asyncio.open_connection("also.invalid", 80)
    except OSError:
        return "failed"
"""
    answers = ask(
        source,
        ("call", {"export": "plain", "arguments": {}}),
        ("call", {"export": "soft", "arguments": {}}),
    )
    assert answers[1]["error"]["data"]["denied_hosts"] == ["surely.invalid:443"]
    assert answers[2]["result"] == {"output": "failed", "denied_hosts": ["also.invalid:80"]}


def test_a_module_that_exits_while_it_is_imported_is_broken(ask: Any) -> None:
    answers = ask("raise SystemExit(1)\n", DESCRIBE)
    assert answers[0]["error"]["code"] == -32001
    assert "asked to end the process" in answers[0]["error"]["message"]
    assert answers[1]["error"]["code"] == -32002


def test_an_asyncio_run_inside_a_plain_function_works(ask: Any) -> None:
    source = """
import asyncio
async def inner():
    return 1
def tool():
    return asyncio.run(inner())
"""
    answers = ask(source, ("call", {"export": "tool", "arguments": {}}))
    assert answers[1]["result"]["output"] == 1
