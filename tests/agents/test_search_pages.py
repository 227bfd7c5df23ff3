"""The search page of an agent, its forms, and the same over REST."""

import pytest
from django.urls import reverse

from agents.models import SearchCase, SearchEvaluation
from agents.search_cases import case_create
from agents.search_evaluations import evaluation_request, evaluation_run
from agents.tokens import token_create
from tests.factories import make_agent, make_builtin, make_tool

pytestmark = pytest.mark.django_db
JSON = "application/json"


@pytest.fixture
def agent(alice):
    return make_agent(alice, name="Helper", slug="helper")


@pytest.fixture
def dice(db):
    make_builtin("convert_units")
    return make_builtin("random_number")


def kept(agent, query="roll two dice", *tools):
    return case_create(agent, by=agent.owner, query=query, expected=[tool.pk for tool in tools])


def url(name, *args):
    return reverse(f"agents:{name}", args=["helper", *args])


def html(answer):
    return answer.content.decode()


def test_an_empty_page_says_what_to_do(client_for, alice, agent):
    page = html(client_for(alice).get(url("search_list")))
    assert "No labelled query yet" in page
    assert "This should have found…" in page
    assert url("search_case_create") in page
    assert "Measure now</button>" not in page


def test_a_query_is_added_changed_and_deleted_by_hand(client_for, alice, agent, dice):
    client = client_for(alice)
    form = {"query": "roll two dice", "recent": "hello\n\nhow are you", "tools": str(dice.pk)}
    answer = client.post(url("search_case_create"), form)
    case = SearchCase.objects.get()
    assert answer.headers["Location"] == url("search_list")
    assert (case.recent, list(case.expected.all())) == (["hello", "how are you"], [dice])

    shown = html(client.get(url("search_case_edit", case.pk)))
    assert "roll two dice</textarea>" in shown
    assert f'value="{dice.pk}" checked' in shown
    client.post(url("search_case_edit", case.pk), {"query": "hello", "nothing": "on"})
    case.refresh_from_db()
    assert (case.query, case.recent, case.expected.count()) == ("hello", [], 0)

    client.post(url("search_case_delete", case.pk))
    assert not SearchCase.objects.exists()


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"query": "x"}, "Choose the tools that it should have found, or “Nothing"),
        ({"query": "x", "nothing": "on", "tools": "DICE"}, "Choose either tools or “Nothing"),
        ({"query": "", "nothing": "on"}, "This field is required"),
        ({"query": "roll two dice", "nothing": "on"}, "has this query already"),
        ({"query": "x", "nothing": "on", "recent": "a\n" * 6}, "At most 5 earlier messages"),
    ],
)
def test_a_form_that_cannot_be_kept_says_why_and_keeps_what_was_typed(
    client_for, alice, agent, dice, form, message
):
    kept(agent)
    form = {name: value.replace("DICE", str(dice.pk)) for name, value in form.items()}
    answer = client_for(alice).post(url("search_case_create"), form)
    assert answer.status_code == 400
    assert message in html(answer)
    assert SearchCase.objects.count() == 1


def test_tools_are_looked_for_without_losing_what_was_typed(client_for, alice, agent, dice):
    form = {"query": "roll", "tools": str(dice.pk), "q": "convert", "find": "1"}
    page = html(client_for(alice).post(url("search_case_create"), form))
    assert "roll</textarea>" in page
    assert f'value="{dice.pk}" checked' in page
    assert "convert_units" in page
    assert not SearchCase.objects.exists()


def test_the_page_shows_what_passes_what_fails_and_why(client_for, alice, agent, dice):
    kept(agent, "roll two dice", dice)
    kept(agent, "buy some flowers", dice)
    evaluation_run(evaluation_request(agent, by=alice, queued=False).pk)
    kept(agent, "hello")
    page = html(client_for(alice).get(url("search_list")))
    assert "1 of 2 pass" in page
    assert page.index("buy some flowers") < page.index(">hello<") < page.index("roll two dice")
    assert "random_number: no word of it was said" in page
    assert "not measured" in page
    assert "place 1" in page
    assert 'id="search-quality-title"' in page


def test_a_query_changed_since_is_not_told_by_its_old_result(client_for, alice, agent, dice):
    case = kept(agent, "roll two dice", dice)
    evaluation_run(evaluation_request(agent, by=alice, queued=False).pk)
    client = client_for(alice)
    assert "place 1" in html(client.get(url("search_list")))
    client.post(url("search_case_edit", case.pk), {"query": "roll dice", "nothing": "on"})
    page = html(client.get(url("search_list")))
    assert "place 1" not in page and "not measured" in page


def test_it_is_measured_on_demand_and_the_page_follows(client_for, alice, agent, dice):
    kept(agent, "roll two dice", dice)
    client = client_for(alice)
    client.post(url("search_measure"))
    asked = SearchEvaluation.objects.get()
    page = html(client.get(url("search_list")))
    assert "Waiting for a worker" in page and 'hx-trigger="every 1s"' in page
    evaluation_run(asked.pk)
    fragment = html(client.get(url("search_list"), headers={"HX-Request": "true"}))
    assert "1 of 1 pass" in fragment and "every 1s" not in fragment
    assert "<html" not in fragment


def test_a_measurement_that_failed_is_told_with_what_to_do(client_for, alice, agent, dice):
    kept(agent, "roll two dice", dice)
    SearchEvaluation.objects.create(
        agent=agent, state="failed", error={"message": "It was stopped.", "hint": "Measure again."}
    )
    page = html(client_for(alice).get(url("search_list")))
    assert "It was stopped." in page and "Measure again." in page


def test_there_is_nothing_to_measure_without_a_query(client_for, alice, agent):
    page = html(client_for(alice).post(url("search_measure"), follow=True))
    assert "There is no labelled query to measure" in page


def test_nobody_else_opens_the_pages(client_for, client, alice, bob, team, agent):
    agent.visibility, agent.team = "team", team
    agent.save()
    case = kept(agent)
    for name, args in (
        ("search_list", ()),
        ("search_case_create", ()),
        ("search_case_edit", (case.pk,)),
    ):
        assert client_for(bob).get(url(name, *args)).status_code == 404
        assert client.get(url(name, *args)).headers["Location"].startswith("/login/")
    for name, args in (("search_measure", ()), ("search_case_delete", (case.pk,))):
        assert client_for(bob).post(url(name, *args)).status_code == 404
        assert client_for(alice).get(url(name, *args)).status_code == 405
    assert SearchCase.objects.count() == 1
    assert "/agents/helper/search/" not in html(
        client_for(bob).get(reverse("agents:agent_detail", args=["helper"]))
    )


def test_the_page_asks_the_database_the_same_for_one_query_and_for_many(
    client_for, alice, agent, dice, django_assert_max_num_queries
):
    for number in range(60):
        kept(agent, f"roll {number} dice", dice, make_tool())
    evaluation_run(evaluation_request(agent, by=alice, queued=False).pk)
    client = client_for(alice)
    with django_assert_max_num_queries(8):
        page = html(client.get(url("search_list")))
    assert "Page 1 of 2" in page


# --- REST


def bearer(client, user, *scopes):
    _, text = token_create(user, name="test", scopes=scopes)
    client.defaults["HTTP_AUTHORIZATION"] = f"Bearer {text}"
    return client


@pytest.fixture
def api(client, alice):
    return bearer(client, alice)


CASES, MEASURED = "/api/v1/agents/helper/search-cases/", "/api/v1/agents/helper/search-evaluations/"


def test_queries_are_kept_listed_and_deleted_over_rest(api, agent, dice):
    body = {"query": "roll two dice", "history": ["hello"], "expected": [str(dice.pk)]}
    made = api.post(CASES, body, content_type=JSON)
    assert made.status_code == 201
    told = made.json()
    assert told["expected"] == [{"id": str(dice.pk), "name": "random_number"}]
    assert (told["query"], told["history"], told["turn"]) == ("roll two dice", ["hello"], None)
    assert api.get(CASES).json()["results"] == [told]
    assert api.delete(f"{CASES}{told['id']}/").status_code == 204
    assert api.get(CASES).json()["results"] == []


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"query": "roll two dice", "expected": []}, 409, "conflict"),
        ({"query": "x"}, 400, "invalid_input"),
        ({"query": "", "expected": []}, 400, "invalid_input"),
        ({"query": "x", "expected": ["nonsense"]}, 400, "invalid_input"),
        ({"query": "x", "expected": [], "history": ["a"] * 6}, 400, "invalid_input"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_a_code(api, agent, body, status, code):
    kept(agent)
    answer = api.post(CASES, body, content_type=JSON)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_it_is_measured_and_read_over_rest(api, agent, dice):
    case = kept(agent, "roll two dice", dice)
    asked = api.post(MEASURED, content_type=JSON)
    assert (asked.status_code, asked.json()["state"]) == (202, "queued")
    evaluation_run(SearchEvaluation.objects.get().pk)
    (told,) = api.get(MEASURED).json()["results"]
    assert (told["state"], told["metrics"]["nDCG@5"]) == ("done", 1.0)
    assert told["ranks"][str(case.pk)]["place"] == 1


def test_measuring_nothing_is_refused_over_rest(api, agent):
    assert api.post(MEASURED, content_type=JSON).json()["code"] == "invalid_input"


def test_the_queries_of_anothers_agent_are_not_there_over_rest(client, bob, team, agent):
    agent.visibility, agent.team = "team", team
    agent.save()
    case = kept(agent)
    api = bearer(client, bob)
    body = {"query": "x", "expected": []}
    answers = [
        api.get(CASES),
        api.post(CASES, body, content_type=JSON),
        api.delete(f"{CASES}{case.pk}/"),
        api.get(MEASURED),
        api.post(MEASURED, content_type=JSON),
    ]
    assert {answer.status_code for answer in answers} == {404}


def test_a_token_needs_the_scope(client, alice, agent):
    api = bearer(client, alice, "agents:read")
    assert api.get(CASES).status_code == 200
    assert api.post(CASES, {"query": "x", "expected": []}, content_type=JSON).status_code == 403


def test_a_query_that_fails_leads_to_the_workbench_with_all_that_was_said(
    client_for, alice, agent, dice
):
    case_create(agent, by=alice, query="read & tell", recent=("hi", "there"), expected=[dice.pk])
    evaluation_run(evaluation_request(agent, by=alice, queued=False).pk)
    link = f"/search/?agent={agent.slug}&amp;message=read+%26+tell&amp;earlier=hi%0Athere"
    client = client_for(alice)
    assert f'href="{link}"' in html(client.get(url("search_list")))
    tried = html(client.get(link.replace("&amp;", "&")))
    assert "read &amp; tell" in tried and "hi\nthere" in tried
