"""A pasted manifest is judged line by line, whoever wrote it: by REST, page and command."""

import io
import json
import re
import subprocess
import sys

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from agents.tokens import token_create
from registry.manifest.example import EXAMPLE
from registry.manifest.jsonfile import MOST_BYTES, NotJson, is_too_deep, read_json
from registry.manifest.judging import judge_text, judgement_shape

API = "/api/v1/packages/validate/"
PAGE = "/packages/validate/"

SEED = {
    "name": "@myorg/web-scraper",
    "version": "1.0.0",
    "keywords": ["tpmjs"],
    "tpmjs": {
        "category": "web-scraping",
        "frameworks": ["vercel-ai"],
        "env": [{"name": "SCRAPER_API_KEY", "description": "API key", "required": True}],
        "tools": [
            {
                "exportName": "scrapeTool",
                "description": "Scrape content from any webpage and return structured data",
                "parameters": [
                    {"name": "url", "type": "string", "description": "The URL", "required": True},
                    {
                        "name": "selector",
                        "type": "string",
                        "description": "CSS selector",
                        "required": False,
                    },
                ],
                "returns": {"type": "object", "description": "Scraped content"},
                "aiAgent": {
                    "useCase": "When user needs to extract content from websites",
                    "limitations": "Cannot scrape JavaScript-rendered content",
                    "examples": ["Scrape the main content from https://example.com"],
                },
            }
        ],
    },
}

HOSTILE = {
    "empty": "",
    "blank": " \n\t ",
    "nul": "\x00",
    "open text": '"abc',
    "deep lists": "[" * 100_000,
    "deep objects": '{"a":' * 50_000,
    "deep and closed": "[" * 5_000 + "]" * 5_000,
    "deep in the field": '{"tools":' + "[" * 63 + "]" * 63 + "}",
    "quotes": '\\"' * 60_000,
    "backslash": '"' + "\\" * 99_999,
    "huge": '{"a": "' + "x" * 300_000 + '"}',
    "many keys": "{" + ",".join(f'"k{n}": {n}' for n in range(15_000)) + "}",
    "many unknown keys": '{"tools": [], '
    + ",".join(f'"descriptio{n}": {n}' for n in range(9_000))
    + "}",
    "many tools": json.dumps({"tools": [{"name": f"t{n}"} for n in range(9_000)]}),
    "long paths": ('{"' + "k" * 60 + '":') * 60 + "[" + "0," * 60_000 + "0]" + "}" * 60,
    "nan": '{"tools": NaN}',
    "infinity": '{"tools": [-Infinity]}',
    "too large a number": '{"tools": 1e999}',
    "digits": '{"tools": ' + "9" * 5_000 + "}",
    "doubled": '{"tools": [], "tools": 5, "tools": {}}',
    "surrogate": r'{"tools": [{"name": "\ud800", "\udfff": "\ud800", "description": "\ud83d"}]}',
    "surrogate name": r'{"name": "\ud800", "tpmjs": {"tools": [{"name": "a"}]}, "x\ud800": 1}',
    "escaped nul": r'{"tools": [{"name": "a\u0000b", "a\u0000": 1}]}',
    "markup": '{"tools": [{"name": "<script>alert(1)</script>", "description": "{{ 7 }}"}]}',
    "no schema": '{"tools": [{"name": "a", "parameters": {"properties": {"a": 5}}}]}',
    "no types": '{"tools": [{"name": "a", "parameters": {"type": 5, "properties": {}}}]}',
    "slow pattern": json.dumps(
        {
            "tools": [
                {
                    "name": f"t{n}",
                    "parameters": {"properties": {"a": {"pattern": "(a+)+$", "default": "a" * 40}}},
                    "healthCheck": {"testParams": {"a": "a" * 40 + "!"}},
                }
                for n in range(50)
            ]
        }
    ),
    "cyclic reference": json.dumps(
        {
            "tools": [
                {
                    "name": "a",
                    "parameters": {"properties": {"a": {"$ref": "#/properties/a"}}},
                    "healthCheck": {"testParams": {"a": 1}},
                }
            ]
        }
    ),
    **{f"bare {value}": value for value in ("null", "true", "5", '"x"', "[]", "{}", "[[[]]]")},
    **{
        f"field {value}": f'{{"tpmjs": {value}}}'
        for value in ("null", "true", "5", '"x"', "[]", "{}", "[{}]", '{"tools": [[]]}')
    },
}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["name", "type", "tools", "parameters", "properties", "items", "aiAgent", "enum"]
            )
            | st.text(max_size=8),
            inner,
        )
    ),
    max_leaves=20,
)


@pytest.fixture
def signed_in(client, alice):
    client.force_login(alice)
    return client


def post(client, body, **headers):
    return client.post(API, body, content_type="application/json", headers=headers)


@pytest.mark.django_db
def test_the_seeds_own_example_is_valid_rich_and_becomes_a_tool(signed_in):
    answer = post(signed_in, json.dumps(SEED)).json()

    assert (answer["valid"], answer["tier"], answer["problems"]) == (True, "rich", [])
    assert (answer["generation"], answer["package"]) == ("earlier", "@myorg/web-scraper")
    (tool,) = answer["tools"]
    assert tool["name"] == "myorg_web-scraper-scrapeTool"
    assert tool["inputSchema"]["required"] == ["url"]
    assert tool["outputSchema"] == {"type": "object", "description": "Scraped content"}
    assert tool["aiAgent"]["useCase"].startswith("When user needs")


def test_the_manifest_of_the_reference_is_valid():
    page = (settings.BASE_DIR / "docs/reference/manifest.md").read_text()
    (shown,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)

    assert judge_text(shown).problems == []


@pytest.mark.django_db
def test_just_the_field_is_judged_with_paths_of_its_own(signed_in):
    field = {"tools": [{"name": "a", "parameters": [{"name": "b", "type": "strng"}]}]}

    answer = post(signed_in, json.dumps(field, indent=1)).json()

    assert answer["valid"] is False
    problem = answer["problems"][0]
    assert problem["path"] == "tools[0].parameters[0].type"
    assert (problem["severity"], problem["line"]) == ("error", 8)
    assert "Did you mean “string”?" in problem["message"]


@pytest.mark.django_db
def test_a_minimal_manifest_is_valid_and_minimal(signed_in):
    field = {"category": "web", "tools": [{"name": "fetch", "description": "Fetches web pages."}]}

    answer = post(signed_in, json.dumps(field)).json()

    assert (answer["valid"], answer["tier"], answer["tierBecause"]) == (True, "minimal", [])
    assert answer["tools"][0]["inputSchema"] is None


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("", "Nothing was given."),
        ('{"a": [1,}', "line 1, column 10"),
        ('{"a": NaN}', "NaN is no number of JSON."),
        ('{"a": 1e999}', "the number 1e999 is too large."),
        ("[" * 65 + "]" * 65, "nested deeper than 64 levels"),
        ('"' + "x" * MOST_BYTES + '"', "larger than 256 KB"),
        (b"\xff\xfe", "not UTF-8"),
    ],
)
@pytest.mark.django_db
def test_what_is_no_json_is_refused_with_the_place(signed_in, body, said):
    response = post(signed_in, body)

    assert response.status_code == 400
    assert response.json()["code"] == "parse_error"
    assert said in response.json()["message"]


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.django_db
def test_nothing_hostile_is_a_fault_of_ours(signed_in, text):
    for response in (
        post(signed_in, text),
        signed_in.post(PAGE, {"manifest": text}),
        signed_in.post(PAGE, {"manifest": text}, headers={"HX-Request": "true"}),
    ):
        assert response.status_code in {200, 400, 422}
        assert response.headers["Content-Type"] == "application/json" or (
            b"<script>alert" not in response.content
        )


@given(json_values)
def test_no_value_raises(value):
    for document in (value, {"tpmjs": value}, {"tools": value}, {"tpmjs": {"tools": [value]}}):
        try:
            judged = judge_text(json.dumps(document))
        except NotJson:
            continue
        json.dumps(judgement_shape(judged)).encode()


@given(st.text(alphabet='{}[]",:\\ \n1a', max_size=60))
def test_no_text_raises_anything_but_that_it_is_no_json(text):
    try:
        read_json(text)
    except NotJson:
        return
    json.loads(text)


@given(json_values)
def test_every_path_of_a_document_has_its_line(value):
    try:
        file = read_json(json.dumps({"a": value, "b": [value, 1]}, indent=1))
    except NotJson:
        return
    assert {"", "a", "b", "b[0]", "b[1]"} <= file.lines.keys()
    assert file.lines["b[1]"] > file.lines["b[0]"] > file.lines["a"] > file.lines[""]


def test_doubled_keys_are_told_with_their_line():
    file = read_json('{\n "a": {"x": 1},\n "b": [{"x": 1,\n "x": 2}]}')

    assert file.doubled == ["b[0].x"]
    assert file.line_of("b[0].x") == 4
    assert file.line_of("b[0].x.y.z") == 4
    assert file.line_of("nowhere") == 1
    judged = judge_text('{"tools": [], "tools": []}')
    assert [item.message for item in judged.problems] == [
        "It stands twice; the last one counts. Take one of the two out."
    ]


def test_depth_is_counted_without_walking_into_it():
    value = []
    for _ in range(100_000):
        value = [value]
    assert is_too_deep(value)
    assert not is_too_deep([[{"a": [1]}]])


@pytest.mark.parametrize(
    ("value", "path", "said"),
    [
        ([], "", "It is a list. Write a package.json with a “tpmjs” field"),
        ({"name": "p", "version": "1"}, "tpmjs", "It is missing, so the package declares no tools"),
        ({"hello": 1}, "", "There is nothing of a manifest in it."),
        ({"tpmjs": None}, "tpmjs", "It is null. Write an object"),
        ({"tpmjs": {"tools": []}}, "keywords", "It lacks “tpmjs”"),
        (
            {"tools": [{"name": "a", "parameters": {"properties": {"b": {"type": "strng"}}}}]},
            "tools[0].parameters.properties.b.type",
            "It is no usable schema",
        ),
        (
            {
                "tools": [
                    {
                        "name": "a",
                        "parameters": [{"name": "b", "required": True}],
                        "healthCheck": {"testParams": {}},
                    }
                ]
            },
            "tools[0].healthCheck.testParams.b",
            "It does not fit the parameters: is required.",
        ),
    ],
)
def test_what_is_wrong_with_the_document_is_told(value, path, said):
    judged = judge_text(json.dumps(value))

    found = {item.path: item.message for item in judged.findings}
    assert said in found[path]


@pytest.mark.django_db
def test_a_stranger_and_a_token_without_the_scope_are_refused(client, alice):
    assert post(client, "{}").status_code == 401
    assert client.get(PAGE).status_code == 302
    assert client.post(PAGE, {"manifest": EXAMPLE}).status_code == 302
    _, wrong = token_create(user=alice, name="chat", scopes=["chat"])
    refused = post(client, "{}", authorization=f"Bearer {wrong}")
    assert refused.status_code == 403
    assert "tools:read" in refused.json()["message"]
    _, right = token_create(user=alice, name="read", scopes=["tools:read"])
    assert post(client, "{}", authorization=f"Bearer {right}").status_code == 200


@pytest.mark.django_db
def test_the_page_is_empty_at_first_and_offers_an_example(signed_in):
    page = signed_in.get(PAGE).content.decode()

    assert "Nothing checked yet" in page
    assert f"{PAGE}?example=1" in page
    assert PAGE in signed_in.get("/packages/").content.decode()


@pytest.mark.django_db
def test_the_page_shows_problems_beside_their_line_and_the_tools(signed_in):
    whole = signed_in.post(PAGE, {"manifest": EXAMPLE}).content.decode()
    part = signed_in.post(PAGE, {"manifest": EXAMPLE}, headers={"HX-Request": "true"})

    for text in (whole, part.content.decode()):
        assert "tpmjs.tools[0].parameters[2].type" in text
        assert "&quot;type&quot;: &quot;strings[]&quot;," in text
        assert "acme_web-scraper-scrapeTool" in text
        assert "1 error to mend." in text
    assert "<textarea" in whole
    assert "<textarea" not in part.content.decode()


@pytest.mark.django_db
def test_the_page_keeps_what_was_pasted_when_it_is_no_json(signed_in):
    response = signed_in.post(PAGE, {"manifest": '{"tools": ['})

    assert response.status_code == 422
    assert "It is not JSON" in response.content.decode()
    assert "{&quot;tools&quot;: [" in response.content.decode()


def test_the_command_tells_each_line_and_fails(tmp_path, capsys):
    file = tmp_path / "package.json"
    file.write_text(EXAMPLE)

    with pytest.raises(CommandError, match="has 1 error"):
        call_command("validate_manifest", str(file))
    told = capsys.readouterr().out
    assert f"{file}:35: " in told
    assert "scrapeTool: takes url, format, selectors" in told
    file.write_text(EXAMPLE.replace("strings[]", "string[]"))
    call_command("validate_manifest", str(file), "--json")
    assert json.loads(capsys.readouterr().out)["valid"] is True


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "cannot be read"), (b"\xff", "not UTF-8"), (b"{", "is not JSON"), (b"[]", "1 error")],
)
def test_the_command_says_what_keeps_it_from_judging(tmp_path, content, said):
    file = tmp_path / "package.json"
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(CommandError, match=said):
        call_command("validate_manifest", str(file), stdout=io.StringIO())


def test_the_command_needs_nothing_running_and_reads_standard_input():
    run = subprocess.run(
        [sys.executable, "manage.py", "validate_manifest", "-"],
        cwd=settings.BASE_DIR,
        input=json.dumps(SEED).encode(),
        capture_output=True,
        timeout=100,
        check=False,
    )

    assert run.returncode == 0, run.stderr
    assert b"standard input is valid." in run.stdout
