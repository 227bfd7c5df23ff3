"""What is read of a package's manifest, and what is named as a problem."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.declared_types import schema_of_type
from registry.manifest import read_manifest
from registry.models.package import Tier

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=20,
)


def declared(**fields):
    return {"name": "p", "tpmjs": fields}


def problem_paths(manifest):
    return [problem["path"] for problem in manifest.problems]


@pytest.mark.parametrize("key", ["name", "exportName"])
def test_both_spellings_of_a_tools_name_are_read(key):
    manifest = read_manifest(declared(tools=[{key: "scrape", "description": "Scrapes."}]))

    assert [tool.export for tool in manifest.tools] == ["scrape"]
    assert manifest.problems == ()


def test_everything_a_rich_manifest_says_is_read():
    manifest = read_manifest(
        declared(
            category="web-scraping",
            frameworks=["vercel-ai"],
            env=[{"name": "SCRAPER_KEY", "description": "The key.", "required": False}],
            tools=[
                {
                    "exportName": "scrapeTool",
                    "description": "Scrapes.",
                    "parameters": [
                        {"name": "url", "type": "string", "required": True, "description": "Where"},
                        {"name": "mode", "type": "'fast' | 'full'", "default": "fast"},
                    ],
                    "returns": {"type": "object", "description": "The page."},
                    "aiAgent": {"useCase": "Read a page", "examples": ["Read example.org"]},
                }
            ],
        )
    )

    (tool,) = manifest.tools
    assert tool.input_schema == {
        "type": "object",
        "properties": {
            "url": {"type": "string", "description": "Where"},
            "mode": {"type": "string", "enum": ["fast", "full"], "default": "fast"},
        },
        "required": ["url"],
    }
    assert tool.output_schema == {"type": "object", "description": "The page."}
    assert tool.ai_agent == {"useCase": "Read a page", "examples": ["Read example.org"]}
    assert manifest.env == ({"name": "SCRAPER_KEY", "description": "The key.", "required": False},)
    assert (manifest.category, manifest.frameworks) == ("web-scraping", ("vercel-ai",))


def test_the_legacy_shape_is_one_tool_called_default():
    manifest = read_manifest(
        declared(
            category="text",
            description="Counts words.",
            parameters=[{"name": "text", "type": "string", "required": True}],
        )
    )

    (tool,) = manifest.tools
    assert (tool.export, tool.description) == ("default", "Counts words.")
    assert tool.input_schema["required"] == ["text"]


@pytest.mark.parametrize(
    ("fields", "tier"),
    [
        ({"tools": [{"name": "a", "description": "d"}]}, Tier.MINIMAL),
        ({"tools": [{"name": "a"}], "env": [], "frameworks": []}, Tier.MINIMAL),
        ({"tools": [{"name": "a"}], "env": [{"name": "KEY"}]}, Tier.RICH),
        ({"tools": [{"name": "a"}], "frameworks": ["vercel-ai"]}, Tier.RICH),
        ({"tools": [{"name": "a", "parameters": []}]}, Tier.RICH),
        ({"tools": [{"name": "a", "aiAgent": {"useCase": "u"}}]}, Tier.RICH),
        ({"tools": [{"name": "a", "returns": {"type": "string"}}]}, Tier.RICH),
    ],
)
def test_the_tier_is_computed_from_what_is_told(fields, tier):
    assert read_manifest(declared(**fields)).tier == tier


def test_a_package_without_the_field_declares_no_tools():
    manifest = read_manifest({"name": "left-pad"})

    assert (manifest.tools, manifest.problems, manifest.tier) == ((), (), Tier.MINIMAL)


def test_what_cannot_be_read_is_named_and_the_rest_is_kept():
    manifest = read_manifest(
        declared(
            category=["not", "text"],
            env=[{"name": "lower_case"}, {"name": "GOOD"}],
            tools=[
                3,
                {"description": "no name"},
                {"name": "fine", "description": "d", "parameters": [{"name": "x", "type": "Foo"}]},
                {"name": "fine", "description": "again"},
            ],
        )
    )

    assert [tool.export for tool in manifest.tools] == ["fine"]
    assert [variable["name"] for variable in manifest.env] == ["GOOD"]
    assert problem_paths(manifest) == [
        "tpmjs.category",
        "tpmjs.tools[0]",
        "tpmjs.tools[1].name",
        "tpmjs.tools[2].parameters[0].type",
        "tpmjs.tools[3]",
        "tpmjs.env[0].name",
    ]


def test_parameters_may_already_be_a_json_schema():
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    manifest = read_manifest(declared(tools=[{"name": "a", "parameters": schema}]))

    assert manifest.tools[0].input_schema == schema


@pytest.mark.parametrize(
    ("text", "schema"),
    [
        ("string", {"type": "string"}),
        ("string[]", {"type": "array", "items": {"type": "string"}}),
        ("Array<number>", {"type": "array", "items": {"type": "number"}}),
        ("'markdown' | 'mdx'", {"type": "string", "enum": ["markdown", "mdx"]}),
        ("\"a|b\" | 'c'", {"type": "string", "enum": ["a|b", "c"]}),
        ("string | undefined", {"type": "string"}),
        ("string | number", {"anyOf": [{"type": "string"}, {"type": "number"}]}),
        (
            "(string | number)[]",
            {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "number"}]}},
        ),
        ("Record<string, any>", {"type": "object"}),
        (
            "Record<string, number>",
            {"type": "object", "additionalProperties": {"type": "number"}},
        ),
        ("string|null", {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        (
            "'a' | 'b' | null",
            {"anyOf": [{"type": "string", "enum": ["a", "b"]}, {"type": "null"}]},
        ),
        ("1 | 2", {"type": "number", "enum": [1, 2]}),
        ("true | false", {"type": "boolean"}),
        ("Date", {"type": "string", "format": "date-time"}),
        ("Promise<string[]>", {"type": "array", "items": {"type": "string"}}),
        (
            "{ url: string; depth?: number, tags: ('a' | 'b')[] }",
            {
                "type": "object",
                "properties": {
                    "url": {"type": "string"},
                    "depth": {"type": "number"},
                    "tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
                },
                "required": ["url", "tags"],
            },
        ),
        ("{ when: Something }", {"type": "object"}),
        ("{" * 20 + "}" * 20, {"type": "object"}),
        ("(" * 20 + "string" + ")" * 20, {"type": "string"}),
        ("string" + "[]" * 20, None),
        ("boolean", {"type": "boolean"}),
        ("SomeInterface", None),
        ("", None),
        ("x" * 1000, None),
    ],
)
def test_declared_types_become_json_schema(text, schema):
    assert schema_of_type(text) == schema


@given(json_values)
def test_no_manifest_raises(value):
    read_manifest(value)
    read_manifest({"tpmjs": value})
    read_manifest({"tpmjs": {"tools": value, "env": value, "frameworks": value}})
    read_manifest({"tpmjs": {"tools": [{"name": "a", "parameters": value, "returns": value}]}})


@given(st.text(alphabet="ab|'\"()[]<>{} ,", max_size=60))
def test_no_declared_type_raises(text):
    schema_of_type(text)
