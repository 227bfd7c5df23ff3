"""Reading labelled sets: every shape that is meant, and every mistake named with its line."""

import json

import pytest

from config.lib.errors import InvalidInput
from registry.search.document import SearchDocument
from registry.search.labelled import line_of, read_queries, read_tools

TOOL = {"id": "a", "name": "add", "description": "Adds."}
QUERY = {"id": "1", "query": "add 2 and 2", "relevant": ["a"]}


@pytest.fixture
def write(tmp_path):
    def written(*lines):
        path = tmp_path / "set.jsonl"
        path.write_text("\n".join(x if isinstance(x, str) else json.dumps(x) for x in lines))
        return path

    return written


def read_one(write, **fields):
    (tool,) = read_tools(write({**TOOL, **fields}))
    return tool


def test_only_id_name_and_description_are_needed(write):
    assert read_one(write) == SearchDocument(id="a", name="add", description="Adds.")


@pytest.mark.parametrize(
    "parameters",
    [
        [{"name": "x", "type": "int", "description": "First."}, {"name": "y", "type": ""}],
        {
            "type": "object",
            "properties": {"x": {"type": "integer", "description": "First."}, "y": True},
        },
        {"x": {"description": "First."}, "y": {}},
    ],
)
def test_parameters_are_a_list_or_a_schema(write, parameters):
    tool = read_one(write, parameters=parameters)
    assert (tool.parameters, tool.parameter_descriptions) == (("x", "y"), ("First.",))


def test_every_other_field_is_read_and_unknown_ones_are_passed_over(write):
    tool = read_one(
        write,
        category="math",
        package="kit",
        package_description="Sums.",
        returns={"description": "The sum.", "properties": {"total": {}}},
        aiAgent={"useCase": "For sums.", "limitations": "No dates.", "examples": ["2 + 2"]},
        colour="red",
        title=None,
    )
    assert (tool.category, tool.package, tool.package_description) == ("math", "kit", "Sums.")
    assert tool.returns == "The sum. total"
    assert (tool.use_case, tool.limitations) == ("For sums.", "No dates.")
    assert tool.examples == ("2 + 2",)


def test_examples_may_be_texts_messages_or_one_text(write):
    assert read_one(write, examples="2 + 2").examples == ("2 + 2",)
    mixed = ["a", {"content": "b"}, {"input": "c"}]
    assert read_one(write, examples=mixed).examples == ("a", "b", "c")


def test_a_tool_is_written_as_it_is_read(write):
    tool = read_one(write, parameters=[{"name": "x", "description": "First."}], use_case="Sums.")
    assert read_tools(write(line_of(tool))) == [tool]


def test_a_query_may_have_history_and_a_kind_and_no_answer(write):
    history = ["hi", {"role": "user", "content": "there"}]
    first, second = read_queries(
        write({**QUERY, "history": history, "kind": "polite"}, "", {**QUERY, "relevant": []}), {"a"}
    )
    assert (first.history, first.kind) == (("hi", "there"), "polite")
    assert first.need.recent == ("hi", "there")
    assert second.relevant == frozenset()


def test_a_text_may_hold_line_separators_and_begin_with_a_byte_order_mark(tmp_path):
    path = tmp_path / "set.jsonl"
    line = json.dumps({**TOOL, "description": "a\u2028b\x85c"}, ensure_ascii=False)
    path.write_text("\ufeff" + line + "\r\n", encoding="utf-8")
    assert read_tools(path)[0].description == "a\u2028b\x85c"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["{"], "line 1: This is not JSON"),
        ([TOOL, "[" * 100_000], "line 2: This is not JSON"),
        (["[]"], "line 1: This is not a JSON object"),
        ([{"id": "a", "name": "add"}], "line 1: “description” is missing."),
        ([{**TOOL, "name": ["x"]}], "line 1: “name” must be a text."),
        ([TOOL, TOOL], "line 2: There is a second tool with the id 'a'."),
        ([{**TOOL, "parameters": 3}], "“parameters” must be a list or a JSON Schema."),
        ([{**TOOL, "parameters": [{}]}], "Each of “parameters” must have a “name”."),
        ([{**TOOL, "parameters": {"properties": []}}], "must be an object."),
        ([{**TOOL, "examples": [[]]}], "“examples” must be a list of texts."),
        (["", " "], "holds no tool."),
    ],
)
def test_a_mistake_in_the_tools_is_named_with_its_line(write, lines, message):
    with pytest.raises(InvalidInput, match=None) as caught:
        read_tools(write(*lines))
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([{**QUERY, "relevant": ["b"]}], "“relevant” names 'b', which no tool has as its id."),
        ([{"id": "1", "query": "x"}], "“relevant” is missing."),
        ([{"id": "1", "relevant": []}], "“query” is missing."),
        ([{**QUERY, "history": {"a": 1}}], "“history” must be a list of texts."),
        ([], "holds no query."),
    ],
)
def test_a_mistake_in_the_queries_is_named_with_its_line(write, lines, message):
    with pytest.raises(InvalidInput) as caught:
        read_queries(write(*lines), {"a"})
    assert message in caught.value.message


def test_a_file_that_is_missing_or_no_text_is_named(tmp_path):
    with pytest.raises(InvalidInput, match="There is no file"):
        read_tools(tmp_path / "none.jsonl")
    (tmp_path / "set.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_tools(tmp_path / "set.jsonl")
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_tools(tmp_path)
