"""`/api/v1/tools/search/` in each mode, as an agent, and with whatever people send."""

import json

import pytest

from agents.models import AgentTool
from agents.models.agent_tool import Approval
from registry.models import Tool
from registry.models.tool import Health, Visibility
from tests.factories import make_agent, make_builtin, make_tool

pytestmark = pytest.mark.django_db

SEARCH = "/api/v1/tools/search/"


@pytest.fixture
def weather(db) -> Tool:
    return make_tool(
        wire_name="acme_getWeather",
        export_name="getWeather",
        title="Get the weather",
        description="Tells the forecast of a town.",
    )


@pytest.fixture
def asked(client_for, alice):
    """Search as Alice; return the status and the body."""

    def ask(**query):
        answer = client_for(alice).get(SEARCH, query)
        return answer.status_code, answer.json()

    return ask


def names(body):
    return [found["tool"]["name"] for found in body["results"]]


@pytest.mark.parametrize(
    ("mode", "q", "why"),
    [
        ("words", "what is the weather forecast", "has weather and forecast"),
        ("regex", r"^acme.*ther$", "its name matches"),
        ("regex", "forecast of", "its description matches"),
        ("exact", "get-weather", "is called get-weather"),
        ("prefix", "weathr", "its name has words that begin like weathr"),
    ],
)
def test_each_mode_answers_in_the_same_shape(asked, weather, mode, q, why):
    make_builtin("calculator")
    status, body = asked(mode=mode, q=q)
    assert status == 200
    assert set(body) == {"query", "results", "total", "took_ms", "mode", "dense"}
    assert (names(body), body["mode"], body["total"]) == (["acme_getWeather"], mode, 1)
    assert body["results"][0]["why"] == why
    assert 0 < body["results"][0]["score"] <= 1


def test_further_needs_and_names_are_repeated_parameters(asked, weather):
    make_builtin("calculator")
    needs = ["the weather forecast of a town", "calculate arithmetic expressions"]
    assert set(names(asked(query=needs)[1])) == {"acme_getWeather", "calculator"}
    assert names(asked(mode="exact", q="getWeather", query=["calculator"])[1]) == [
        "acme_getWeather",
        "calculator",
    ]


@pytest.mark.parametrize(
    "query",
    [
        {"mode": "guess"},
        {"mode": "regex", "q": "a", "query": "b"},
        {"mode": "prefix", "query": "b"},
        {"query": ["x"] * 6},
        {"query": ["x"] * 500},
        {"query": "x" * 1_001},
        {"q": "x" * 20_001},
        {"q": "x" * 10_000_000},
        {"messages": json.dumps(["x" * 10_000_000])},
        {"q": "a\x00b"},
        {"query": "a\x00b"},
        {"limit": "51"},
        {"limit": "many"},
        {"agent": "a" * 61},
    ],
)
def test_what_cannot_be_searched_is_refused_by_its_field(asked, weather, query):
    status, body = asked(**query)
    assert (status, body["code"]) == (400, "invalid_input")
    paths = {problem["path"].split(".")[1] for problem in body["extra"]["problems"]}
    assert paths <= set(query)


@pytest.mark.parametrize(
    ("pattern", "code"),
    [
        ("", "pattern_invalid"),
        ("get_(", "pattern_invalid"),
        ("*", "pattern_invalid"),
        ("(a{1000}){1000}", "pattern_invalid"),
        ("(?R)", "pattern_invalid"),
        ("(" * 500 + ")" * 500, "pattern_invalid"),
        ("x" * 1_001, "pattern_invalid"),
        ("(a|aa)+$", "pattern_too_slow"),
        ("(.*a){12}!", "pattern_too_slow"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused_before_the_time_is_up(asked, pattern, code):
    make_tool(description="a" * 300 + " b")
    status, body = asked(mode="regex", q=pattern)
    assert (status, body["code"]) == (400, code)  # not search_timeout
    assert body["hint"] and body["extra"]["phase"] == "search"


def test_where_a_pattern_goes_wrong_is_told(asked):
    assert asked(mode="regex", q="get_(")[1]["extra"]["position"] == 5


@pytest.mark.parametrize("mode", ["words", "exact", "prefix"])
@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "x",
        "?",
        "🙂" * 3_000,
        "the of and is",
        "\u202egnp\u202c \u200b\u200d",
        "%_\\'\"",
        "weather " * 2_500,
        " ".join(f"w{number}q" for number in range(3_000)),
        "天气" * 5_000,
        "ﬁ" * 19_000,
        "a" * 20_000,
        "((((" * 5_000,
    ],
)
def test_any_text_has_an_answer_before_the_time_is_up(asked, weather, mode, text):
    status, body = asked(mode=mode, q=text)
    assert status == 200, body


@pytest.mark.parametrize("mode", ["regex", "exact", "prefix"])
def test_as_an_agent_what_it_denies_is_not_found_and_takes_no_place(
    client_for, alice, weather, mode
):
    other = make_tool(wire_name="getWeather", export_name="other", title="Other")
    agent = make_agent(alice, other)
    agent.links.update(approval="deny")
    client = client_for(alice)
    query = {"mode": mode, "q": "getWeather", "limit": 1}
    assert client.get(SEARCH, query).json()["total"] == 2
    body = client.get(SEARCH, {**query, "agent": agent.slug}).json()
    assert (names(body), body["total"]) == (["acme_getWeather"], 1)
    assert client.get(SEARCH, {**query, "agent": "nobody"}).status_code == 404


def test_alike_are_told_with_the_package_and_not_to_who_may_not_see_the_tool(
    client_for, alice, bob, weather
):
    Tool.objects.filter(pk=weather.pk).update(import_health=Health.BROKEN)
    twin = make_tool(
        wire_name="forecast", title="Weather", description="Weather forecast of a town."
    )
    path = f"/api/v1/tools/{weather.pk}/similar/"
    (found,) = client_for(alice).get(path).json()["results"]
    assert found["tool"]["name"] == twin.wire_name
    assert found["same_package"] is False
    assert 0 < found["score"] <= 1
    assert client_for(alice).get(f"{path}?limit=0").status_code == 400
    Tool.objects.filter(pk=weather.pk).update(visibility=Visibility.PRIVATE, owner=alice)
    assert client_for(bob).get(path).status_code == 404


def test_a_copy_is_told_with_what_is_found_and_one_that_is_denied_is_not(asked, alice, weather):
    make_builtin("calculator")
    copy = make_tool(
        wire_name="zeta_getWeather",
        export_name="getWeather",
        title="Get the weather",
        description="Tells the forecast of a town.",
    )
    need = "what is the weather forecast"
    (found,) = asked(q=need)[1]["results"]
    both = {"acme_getWeather": weather, "zeta_getWeather": copy}
    other = both.pop(found["tool"]["name"])
    ((name, tool),) = both.items()
    assert found["duplicates"] == [{"id": str(tool.pk), "name": name}]

    agent = make_agent(alice)
    AgentTool.objects.create(agent=agent, tool=other, approval=Approval.DENY)
    (found,) = asked(q=need, agent=agent.slug)[1]["results"]
    assert (found["tool"]["name"], found["duplicates"]) == (name, [])


def test_a_bad_parameter_is_told_as_one_of_the_query(asked):
    status, body = asked(q="json", limit=0)
    assert status == 400
    assert body["message"] == "The query parameters are not valid."
    assert [problem["path"] for problem in body["extra"]["problems"]] == ["$.limit"]
