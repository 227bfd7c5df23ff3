"""Every kind of mistake in a manifest is told at its path, with what to write instead."""

import pytest

from registry.manifest import read_manifest
from registry.manifest.vocabulary import CATEGORIES

GOOD = {"name": "scrape", "description": "Fetches a page and returns its text."}


def told(field):
    """Return path → message of everything that is said of a manifest."""
    manifest = read_manifest({"tpmjs": field})
    found = {}
    for item in manifest.findings:
        found.setdefault(item.path.removeprefix("tpmjs."), item.message)
    return found


def severities(field):
    manifest = read_manifest({"tpmjs": field})
    return {item.path.removeprefix("tpmjs."): item.severity for item in manifest.findings}


def with_tool(**fields):
    return {"category": "web", "tools": [{**GOOD, **fields}]}


def with_parameter(**fields):
    parameter = {"name": "url", "type": "string", "description": "Where.", **fields}
    return with_tool(parameters=[parameter])


TOOL = "tools[0]"
PARAMETER = "tools[0].parameters[0]"

MISTAKES = [
    (3, "tpmjs", "It is a number. Write an object"),
    ([], "tpmjs", "It is a list. Write an object"),
    ({}, "tpmjs", "It is empty. Write {"),
    ({"category": 5}, "category", 'It is a number. Write a category such as "web-scraping".'),
    ({"category": "web-scrapping"}, "category", "Did you mean “web-scraping”?"),
    ({"category": "Web Scraping"}, "category", "It is read as “web-scraping”. Write that."),
    ({"tools": "scrape"}, "tools", "It is a text. Write a list"),
    ({"tools": {"a": GOOD}}, "tools", "It is an object. Write a list"),
    ({"tools": []}, "tools", "None is declared, so what the package exports decides."),
    ({"tools": [7]}, TOOL, "It is a number. Write an object"),
    ({"tools": [None]}, TOOL, "It is null. Write an object"),
    ({"tools": [{}]}, f"{TOOL}.name", "It is missing. Write the name of the export"),
    ({"tools": [{"name": " "}]}, f"{TOOL}.name", "It is missing."),
    ({"tools": [{"exportName": 1}]}, f"{TOOL}.exportName", "It is a number. Write the name"),
    ({"tools": [{"name": "x" * 129}]}, f"{TOOL}.name", "It is longer than 128 characters."),
    ({"tools": [GOOD, GOOD]}, "tools[1]", "“scrape” is declared twice; the first one counts."),
    ({"tools": [GOOD] * 201}, "tools", "Only the first 200 tools are read."),
    (with_tool(exportName="other"), f"{TOOL}.name", "“name” and “exportName” differ; “other”"),
    (with_tool(description=""), f"{TOOL}.description", "It is missing. Write what the tool does"),
    (with_tool(description=None), f"{TOOL}.description", "It is null. Write what the tool does"),
    (with_tool(description="Fetches."), f"{TOOL}.description", "It has only 8 characters."),
    (with_tool(description="x" * 501), f"{TOOL}.description", "It has 501 characters"),
    (with_tool(category="weeb"), f"{TOOL}.category", "Did you mean “web”?"),
    (with_tool(describtion="x"), f"{TOOL}.describtion", "Did you mean “description”?"),
    (with_tool(**{"a b": 1}), f'{TOOL}["a b"]', "is not a field of a manifest; it is kept"),
    (with_tool(parameters="url"), f"{TOOL}.parameters", "It is a text. Write a list"),
    (with_tool(parameters=[5]), PARAMETER, 'It is a number. Write an object: {"name": "url"'),
    (with_parameter(name=""), f"{PARAMETER}.name", 'It is missing. Write a name such as "url".'),
    (with_parameter(name=4), f"{PARAMETER}.name", "It is a number. Write the parameter's name"),
    (with_parameter(type=4), f"{PARAMETER}.type", 'It is a number. Write a type such as "string"'),
    (with_parameter(type="strng"), f"{PARAMETER}.type", "Did you mean “string”?"),
    (with_parameter(type="Foo"), f"{PARAMETER}.type", "“Foo” is not known; it is taken as a str"),
    (with_parameter(type=["string", 1]), f"{PARAMETER}.type[1]", "Write a type such as"),
    (with_parameter(description=9), f"{PARAMETER}.description", "Write what the parameter means"),
    (with_parameter(description=""), PARAMETER, "It has no description. Models read it"),
    (with_parameter(required="yes"), f"{PARAMETER}.required", "It is a text. Write true or false."),
    (with_parameter(enum="a"), f"{PARAMETER}.enum", "It is a text. Write a list of the values"),
    (with_parameter(default=4), f"{PARAMETER}.default", "It does not fit the parameter: must be"),
    (with_parameter(items=4), f"{PARAMETER}.items", "Write the type of the list's items"),
    (with_parameter(properties=4), f"{PARAMETER}.properties", "Write the fields of the object"),
    (with_parameter(minimum="1"), f"{PARAMETER}.minimum", "It is a text. Write a number."),
    (
        with_parameter(type="object", properties=[{"name": "a", "type": "nmber"}]),
        f"{PARAMETER}.properties[0].type",
        "Did you mean “number”?",
    ),
    (
        with_tool(parameters=[{"name": "a"}, {"name": "a"}]),
        f"{TOOL}.parameters[1].name",
        "“a” stands twice; the first counts.",
    ),
    (
        with_tool(parameters=[{"name": f"p{n}"} for n in range(101)]),
        f"{TOOL}.parameters",
        "Only the first 100 parameters are read.",
    ),
    (with_tool(returns="object"), f"{TOOL}.returns", "It is a text. Write an object"),
    (with_tool(returns={"type": 5}), f"{TOOL}.returns.type", 'Write a type such as "object".'),
    (with_tool(returns={"description": "A page."}), f"{TOOL}.returns", "It has no type."),
    (with_tool(aiAgent="x"), f"{TOOL}.aiAgent", "It is a text. Write an object"),
    (with_tool(aiAgent={"useCase": 5}), f"{TOOL}.aiAgent.useCase", "Write when to use the tool"),
    (with_tool(aiAgent={"usecase": ""}), f"{TOOL}.aiAgent.usecase", "Did you mean “useCase”?"),
    (
        with_tool(aiAgent={"limitations": ["a", 5]}),
        f"{TOOL}.aiAgent.limitations[1]",
        "Write what the tool cannot do",
    ),
    (
        with_tool(aiAgent={"examples": ["a", 5]}),
        f"{TOOL}.aiAgent.examples[1]",
        "It is a number. Write a text.",
    ),
    (with_tool(healthCheck="x"), f"{TOOL}.healthCheck", "It is a text. Write an object"),
    (
        with_tool(healthCheck={"testParams": []}),
        f"{TOOL}.healthCheck.testParams",
        "It is a list. Write arguments for a harmless call",
    ),
    (
        with_tool(healthCheck={"arguments": {"a": 1}}),
        f"{TOOL}.healthCheck.arguments",
        "It is read as the arguments. Write “testParams”.",
    ),
    (
        with_tool(healthCheck={"skipExecution": True, "testParams": {}}),
        f"{TOOL}.healthCheck.testParams",
        "It is skipped, so testParams are never used.",
    ),
    (
        with_tool(healthCheck={"cleanup": [{"tool": "t"}] * 6}),
        f"{TOOL}.healthCheck.cleanup",
        "It has 6 steps. Write at most 5.",
    ),
    (
        with_tool(healthCheck={"cleanup": [1, {}]}),
        f"{TOOL}.healthCheck.cleanup[1].tool",
        "It is missing. Write the name of another tool",
    ),
    ({"frameworks": "vercel-ai"}, "frameworks", 'It is a text. Write a list of names: ["ver'),
    ({"frameworks": ["vercel"]}, "frameworks[0]", "Did you mean “vercel-ai”?"),
    ({"frameworks": [7]}, "frameworks[0]", "It is a number. Write one of vercel-ai"),
    ({"env": "KEY"}, "env", "It is a text. Write a list"),
    ({"env": [5]}, "env[0]", 'It is a number. Write an object: {"name": "API_KEY"'),
    ({"env": [{}]}, "env[0].name", 'It is missing. Write a name such as "SCRAPER_API_KEY".'),
    ({"env": [{"name": "api-key"}]}, "env[0].name", "Write “API_KEY”."),
    ({"env": [{"name": "A"}, {"name": "A"}]}, "env[1].name", "“A” stands twice"),
    ({"env": [{"name": "A", "required": 1}]}, "env[0].required", "Write true or false."),
    ({"env": {"key-1": "What for."}}, "env.key-1.name", "Write “KEY_1”."),
    ({"frameworks": ["vercel-ai"] * 21}, "frameworks", "Only the first 20 are read."),
    ({"env": [{"name": f"K{n}"} for n in range(51)]}, "env", "Only the first 50 variables"),
    ({"hosts": ["a.example"] * 51}, "hosts", "Only the first 50 hosts are read."),
    ({"hosts": "a.example"}, "hosts", "It is a text. Write a list of hosts"),
    ({"hosts": [5]}, "hosts[0]", "It is a number. Write host, host:port or *.host."),
    ({"hosts": ["https://a.example/x"]}, "hosts[0]", "is not host, host:port or *.host."),
    ({"hosts": ["*"]}, "hosts[0]", "stands for the whole network: name the hosts."),
    ({"toolz": []}, "toolz", "Did you mean “tools”?"),
    ({"description": "Fetches."}, "tpmjs", "This is the older shape of a single tool"),
    ({"description": 5}, "description", "It is a number. Write what the tool does"),
    ({"description": "d", "authentication": 1}, "authentication", "Write an object"),
    ({"description": "d", "tags": [1]}, "tags[0]", "It is a number. Write a list of texts"),
]


@pytest.mark.parametrize(("field", "path", "message"), MISTAKES)
def test_a_mistake_is_told_at_its_path_with_what_to_write(field, path, message):
    found = told(field)

    assert path in found
    assert message in found[path]


def test_all_mistakes_are_told_at_once():
    found = told(
        {
            "category": 1,
            "env": [{"name": "x y"}],
            "tools": [{"name": "a", "parameters": [{"type": 1}]}, {}],
        }
    )

    assert {"category", "env[0].name", "tools[1].name"} <= found.keys()
    assert {"tools[0].parameters[0].type", "tools[0].parameters[0].name"} <= found.keys()


def test_advice_and_warnings_are_no_errors():
    assert severities({"tools": [{"name": "a", "x": 1}]}) == {
        "tools[0].x": "warning",
        "tools[0].description": "warning",
        "category": "advice",
    }


def test_more_mistakes_than_anybody_reads_are_counted_once():
    found = read_manifest({"tpmjs": {f"k{n}": n for n in range(9_000)}}).findings

    assert len(found) == 501
    assert "more problems than these 500" in found[-1].message


@pytest.mark.parametrize("category", [*CATEGORIES, "doc"])
def test_every_category_its_legacy_names_and_aliases_are_accepted(category):
    manifest = read_manifest({"tpmjs": {"category": category, "tools": [GOOD]}})

    assert manifest.problems == ()
    assert manifest.category == {"doc": "documentation"}.get(category, category)


def test_what_is_unknown_stays_in_the_stored_manifest():
    package_json = {"tpmjs": {"tools": [{**GOOD, "price": 5}], "vendor": {"a": 1}}}

    manifest = read_manifest(package_json)

    assert [item["path"] for item in manifest.problems] == ["tpmjs.vendor", "tpmjs.tools[0].price"]
    assert package_json["tpmjs"]["vendor"] == {"a": 1}
    assert package_json["tpmjs"]["tools"][0]["price"] == 5
