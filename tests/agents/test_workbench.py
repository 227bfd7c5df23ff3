"""The search workbench: what a message finds and why, and how weights change for everybody."""

import re
from typing import get_args

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agents.models import AgentTool
from agents.models.agent_tool import Approval
from agents.relevance_words import SENTENCES, SPEAKS
from agents.score_bars import picture_of
from agents.search_cases import case_create
from agents.weight_effect import effect_of
from agents.workbench import DENIED, Asked, tried
from registry.errors import SearchTimeout
from registry.models import SearchWeights
from registry.roles import Role, role_give
from registry.search import in_force
from registry.search.explain import Speaks
from registry.search.relevance import COEFFICIENTS, WITH_MEANING
from registry.search.weights import BOUNDS, Weights
from tests.factories import make_agent, make_tool

pytestmark = pytest.mark.django_db

PAGE, SAVE, HISTORY = "/search/", "/search/weights/save/", "/search/weights/"
HX = {"HX-Request": "true"}


@pytest.fixture
def tools():
    return {
        name: make_tool(wire_name=name, title=name.replace("_", " "), description=text)
        for name, text in (
            ("scrape_page", "Read the text of a web page."),
            ("web_search", "Search the web for pages."),
            ("send_email", "Send an email to a person."),
        )
    }


def fields(**weights):
    """Return what the form of weights sends."""
    return {f"w-{name}": value for name, value in {**Weights().as_dict(), **weights}.items()}


def names(hits):
    return [hit.wire_name for hit in hits]


def test_nobody_unknown_sees_the_workbench():
    for url in (PAGE, HISTORY, "/search/weights/0/restore/"):
        assert Client().get(url).status_code == 302
    assert Client().post(SAVE).status_code == 302


def test_a_message_shows_what_is_found_and_each_part(client_for, alice, tools):
    page = client_for(alice).post(PAGE, {"message": "please read web pages"})
    told = page.content.decode()
    assert page.status_code == 200
    assert told.index("scrape_page") < told.index("web_search")
    assert "send_email" not in told
    assert "<s>please</s><small>chatter</small>" in told
    assert "pages<small>page</small>" in told
    assert "Where the tool says it" in told and "floor 0.10" in told


def test_a_message_can_be_linked_to(client_for, alice, tools):
    assert b"scrape_page" in client_for(alice).get(PAGE, {"message": "read a page"}).content


def test_a_link_may_name_a_few_weights_alone(client_for, alice, tools):
    told = client_for(alice).get(PAGE, {"message": "read", "w-name": "2"}).content.decode()
    assert "Tried weights" in told and 'name="w-k1"' in told
    field = re.search(r'<input[^>]*name="w-k1"[^>]*>', told)
    assert field is not None and 'value="1"' in field[0]


def test_htmx_gets_the_outcome_alone(client_for, alice, tools):
    answer = client_for(alice).post(PAGE, {"message": "read a page"}, headers=HX)
    told = answer.content.decode()
    assert told.lstrip().startswith("<div") and 'id="outcome"' in told and "<html" not in told


def test_small_talk_is_told_to_ask_for_nothing(client_for, alice, tools):
    told = client_for(alice).post(PAGE, {"message": "hello there"}).content.decode()
    assert "the message asks for no tool" in told and "small talk" in told


def test_without_a_message_the_page_says_what_to_do(client_for, alice):
    assert b"Nothing asked yet" in client_for(alice).get(PAGE).content


def test_a_tool_that_the_person_may_not_see_is_not_told(client_for, alice, bob):
    make_tool(wire_name="secret_page", visibility="private", owner=bob)
    told = client_for(alice).post(PAGE, {"message": "secret page"}).content.decode()
    assert "secret_page" not in told


def test_what_the_agent_has_lacks_or_denies_is_left_out_and_why(alice, tools):
    agent = make_agent(alice, tools["scrape_page"])
    AgentTool.objects.create(agent=agent, tool=tools["web_search"], approval=Approval.DENY)
    make_tool(wire_name="page_reader", description="Read a web page.", required_scopes=["web:read"])
    outcome = tried(alice, Asked(message="read web pages", agent=agent))
    assert names(place.hit for place in outcome.found) == []
    assert {hit.wire_name: hit.reason for hit in outcome.left_out} == {
        "scrape_page": "already at hand",
        "web_search": DENIED,
        "page_reader": "requires the scope web:read",
    }


def test_an_agent_that_does_not_search_is_told_so(client_for, alice, tools):
    make_agent(alice, slug="plain", discovery_mode="linked")
    answer = client_for(alice).post(PAGE, {"message": "read a page", "agent": "plain"})
    assert b"linked tools alone" in answer.content


def test_anothers_agent_cannot_be_chosen(client_for, alice, bob):
    make_agent(bob, slug="bobs")
    answer = client_for(alice).post(PAGE, {"message": "x", "agent": "bobs"})
    assert answer.status_code == 422 and b"bobs" not in answer.content.split(b"<main")[0]
    assert b"Select a valid choice" in answer.content


def test_earlier_messages_count(alice, tools):
    alone = tried(alice, Asked(message="and the links of it?"))
    after = tried(alice, Asked(message="and the pages?", earlier=("search the web",)))
    assert not alone.found
    assert any(place.hit.explanation.added["history"] > 0 for place in after.found)


def test_other_weights_show_what_moves(client_for, alice, tools):
    weights = Weights(description=0.0, floor=0.0)
    outcome = tried(alice, Asked(message="read the web", weights=weights))
    assert names(place.hit for place in outcome.saved) == ["scrape_page", "web_search"]
    assert [(place.hit.wire_name, place.moved) for place in outcome.found] == [("web_search", "up")]
    assert [place.other for place in outcome.saved] == [None, 1]
    assert {change.name for change in outcome.changes} == {"description", "floor"}
    told = (
        client_for(alice)
        .post(PAGE, {"message": "read the web", **fields(description=0, floor=0)})
        .content.decode()
    )
    assert "In force" in told and "moves out" in told and "from 2" in told
    assert "Save for everybody" not in told


def test_weights_that_are_left_empty_are_those_in_force(client_for, alice, tools):
    answer = client_for(alice).post(PAGE, {"message": "read the web", "w-name": ""})
    assert b"With these weights" not in answer.content


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        ({"w-name": "99"}, "less than or equal to 5"),
        ({"w-name": "much"}, "Enter a number"),
        ({"w-name": "nan"}, "Enter a number"),
        ({f"w-{name}": "0" for name in list(BOUNDS)[:10]}, "At least one text"),
        ({"limit": "0"}, "greater than or equal to 1"),
        ({"message": "x" * 20_001}, "at most 20000"),
    ],
)
def test_what_cannot_be_is_named(client_for, alice, sent, message):
    answer = client_for(alice).post(PAGE, {"message": "read", **sent}, headers=HX)
    assert answer.status_code == 422 and message in answer.content.decode()


@pytest.mark.parametrize("message", ["", " ", "\x00", "😀", "the of and", "a", "\ud800", "((((*"])
def test_a_message_of_nothing_is_answered(client_for, alice, tools, message):
    data = {"message": message.encode("utf-8", "surrogatepass").decode("utf-8", "replace")}
    assert client_for(alice).post(PAGE, data).status_code in (200, 422)


def test_why_the_best_is_relevant_and_what_is_read_as_another_word_is_told(
    client_for, alice, tools
):
    asked = {"message": "Please raed the text of a pgae"}
    told = client_for(alice).post(PAGE, asked).content.decode()
    assert "→ page" in told and "read as the one behind it" in told
    assert "of scrape page" not in told and "for scrape page" in told
    assert "asks for something to be done" in told and "It is told by the message" in told


def test_each_reason_of_a_relevance_has_its_words():
    assert {*COEFFICIENTS, *WITH_MEANING, "base"} == set(SENTENCES)
    assert {"nothing", *SPEAKS} == set(get_args(Speaks))


def test_kinds_categories_and_what_a_model_asks_for_count(client_for, alice, tools):
    make_tool(wire_name="page_maker", description="Make a web page.", category="web")
    client = client_for(alice)
    told = client.post(PAGE, {"message": "a web page", "category": "web"}).content.decode()
    assert "page_maker" in told and "scrape_page" not in told
    assert (
        "page_maker"
        not in client.post(PAGE, {"message": "a web page", "kind": "sequence"}).content.decode()
    )
    asked = {"message": "do it", "queries": "read a web page\nsend an email"}
    told = client.post(PAGE, asked).content.decode()
    assert "scrape_page" in told and "send_email" in told
    assert client.post(PAGE, {"message": "x", "kind": "magic"}).status_code == 422


def test_copies_of_a_tool_are_told_with_it(client_for, alice):
    for name in ("scrape_page", "scrape_page_2"):
        make_tool(wire_name=name, export_name="scrape_page", description="Read a web page.")
    told = client_for(alice).post(PAGE, {"message": "read a web page"}).content.decode()
    assert 'also: <span class="mono">scrape_page' in told
    assert "the same as another result" in told


def test_the_queries_do_not_grow_with_what_is_found(client_for, alice):
    for number in range(25):
        make_tool(wire_name=f"page_{number}", description="Read the text of a web page.")
    client = client_for(alice)
    client.post(PAGE, {"message": "read a web page"})

    def queries(limit):
        with CaptureQueriesContext(connection) as asked:
            client.post(PAGE, {"message": "read a web page", "limit": limit})
        return len(asked)

    assert queries("20") == queries("1")


def test_the_segments_of_a_bar_end_where_the_score_is(alice, tools):
    for place in tried(alice, Asked(message="read web pages")).found:
        picture = picture_of(place.hit.explanation)
        last = picture.segments[-1]
        assert last.x + last.width == pytest.approx(100 * place.hit.score, abs=0.5)
        assert picture.floor == 100 * Weights().floor


def test_a_governor_is_shown_the_change_and_saves_it_with_a_reason(
    client_for, governor, tools, django_capture_on_commit_callbacks
):
    client = client_for(governor)
    told = client.post(PAGE, {"message": "read", **fields(name=2)}).content.decode()
    assert "Save for everybody" in told and 'name="w-name" value="2"' in told
    asked = client.post(SAVE, fields(name=2))
    assert asked.status_code == 200 and "ranked so" in asked.content.decode()
    assert not SearchWeights.objects.exists()
    empty = client.post(SAVE, {**fields(name=2), "reason": " ", "based_on": "0"})
    assert empty.status_code == 422 and b"Say in a few words why" in empty.content
    with django_capture_on_commit_callbacks(execute=True):
        saved = client.post(SAVE, {**fields(name=2), "reason": "names", "based_on": "0"})
    assert saved["Location"] == HISTORY
    history = client.get(HISTORY).content.decode()
    assert "Version 1" in history and "names" in history and "in force" in history


def test_who_saves_second_keeps_what_they_typed_and_is_told(
    client_for, governor, django_capture_on_commit_callbacks
):
    client = client_for(governor)
    with django_capture_on_commit_callbacks(execute=True):
        client.post(SAVE, {**fields(name=2), "reason": "first", "based_on": "0"})
    second = client.post(SAVE, {**fields(name=3), "reason": "second", "based_on": "0"})
    told = second.content.decode()
    assert second.status_code == 422 and "The weights changed meanwhile" in told
    assert 'name="w-name" value="3"' in told and "second" in told
    assert 'name="based_on" value="1"' in told
    with django_capture_on_commit_callbacks(execute=True):
        client.post(SAVE, {**fields(name=3), "reason": "second", "based_on": "1"})
    assert in_force.weights_now().version == 2


def test_an_earlier_version_is_restored_from_the_history(
    client_for, governor, django_capture_on_commit_callbacks
):
    client = client_for(governor)
    with django_capture_on_commit_callbacks(execute=True):
        client.post(SAVE, {**fields(name=2), "reason": "first", "based_on": "0"})
    url = "/search/weights/0/restore/"
    assert "the product&#x27;s own" in client.get(url).content.decode().replace("'", "&#x27;")
    with django_capture_on_commit_callbacks(execute=True):
        client.post(url, {"reason": "it was better", "based_on": "1"})
    now = in_force.weights_now()
    assert (now.version, now.restored_from, now.weights) == (2, 0, Weights())
    assert client.get("/search/weights/9/restore/").status_code == 404


def test_only_governors_save_and_restore(client_for, alice, bob):
    role_give(bob, Role.AUDITOR)
    for person in (alice, bob):
        client = client_for(person)
        body = {**fields(name=2), "reason": "mine", "based_on": "0"}
        assert client.post(SAVE, body).status_code == 403
        assert client.get("/search/weights/0/restore/").status_code == 403
        assert client.post("/search/weights/0/restore/", body).status_code == 403
        assert "Restore…" not in client.get(HISTORY).content.decode()
    assert not SearchWeights.objects.exists()


def test_a_governor_is_shown_what_the_labelled_queries_lose_and_gain(
    client_for, governor, alice, tools
):
    mine, hers = make_agent(governor, slug="mine"), make_agent(alice, slug="hers")
    read = [tools["scrape_page"].pk]
    case_create(mine, by=governor, query="read the text", expected=read)
    case_create(hers, by=alice, query="please read the text aloud", expected=read)
    case_create(mine, by=governor, query="good morning", expected=[])
    weights = fields(description=0, floor=0.3)
    told = client_for(governor).post(SAVE, weights).content.decode()
    assert "0 mended, 2 lost" in told
    assert "3 of 3" in told and "1 of 3" in told
    assert "read the text" in told and "please read the text aloud" not in told
    effect = effect_of(Weights(description=0.0, floor=0.3), governor)
    assert (effect.cases, effect.passed_before, effect.passed_after) == (3, 3, 1)
    assert [case.query for case in effect.own_broken] == ["read the text"]
    back = effect_of(Weights(), governor)
    assert (back.mended, back.broken) == (0, 0)
    assert {metric.way for metric in back.metrics} == {"same"}


def test_without_labelled_queries_a_governor_is_told_that_nothing_is_measured(client_for, governor):
    told = client_for(governor).post(SAVE, fields(name=2)).content.decode()
    assert "nothing tells whether this is better" in told


def test_a_measurement_that_takes_too_long_leaves_the_decision_possible(
    client_for, governor, monkeypatch
):
    def late(*_):
        raise SearchTimeout("The search for tools took too long.")

    monkeypatch.setattr("agents.views.workbench.effect_of", late)
    answer = client_for(governor).post(SAVE, fields(name=2))
    assert answer.status_code == 200
    assert "They could not be ranked now" in answer.content.decode()


def test_an_owner_goes_on_to_label_the_message(client_for, alice, bob, team, tools):
    make_agent(alice, slug="mine", team=team, visibility="team")
    data = {"message": "read a page & more", "earlier": "hi\nthere", "agent": "mine"}
    told = client_for(alice).post(PAGE, data).content.decode()
    url = (
        "/agents/mine/search/new/?query=read%20a%20page%20%26%20more&amp;recent=hi&amp;recent=there"
    )
    assert url in told
    form = client_for(alice).get(url.replace("&amp;", "&")).content.decode()
    assert "read a page &amp; more" in form and "hi\nthere" in form
    assert "labelled query" not in client_for(bob).post(PAGE, data).content.decode()


def test_weights_that_cannot_be_are_not_saved(client_for, governor):
    answer = client_for(governor).post(SAVE, fields(name=99))
    assert answer.status_code == 400 and b"These are no weights" in answer.content
