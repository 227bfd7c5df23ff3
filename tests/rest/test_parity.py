"""What the browser did alone: names, imports once more, templates."""

from django.contrib.auth.models import User
from django.test import Client

from chat.services import conversation_create
from registry.importing.jobs import import_request
from tests.factories import make_agent, make_builtin, make_user
from tests.rest.callers import by

API, JSON = "/api/v1", "application/json"


def test_a_conversation_is_renamed(alice: User) -> None:
    agent = make_agent(alice)
    conversation = conversation_create(user=alice, agent_slug=agent.slug, title="Old")
    address = f"{API}/conversations/{conversation.pk}/"
    told = Client().patch(address, {"title": "New"}, JSON, **by(alice))
    assert (told.status_code, told.json()["title"]) == (200, "New")
    assert Client().patch(address, {"title": " "}, JSON, **by(alice)).status_code == 400
    assert Client().patch(address, {"title": "x"}, JSON, **by(make_user("bob"))).status_code == 404
    assert (
        Client().patch(address, {"title": "x"}, JSON, **by(alice, "agents:read")).status_code == 403
    )


def test_an_import_is_asked_for_once_more(alice: User) -> None:
    job = import_request(
        ecosystem="npm", name="left-pad", version="1.0.0", settings=None, user=alice
    )
    again = Client().post(f"{API}/jobs/{job.pk}/again/", content_type=JSON, **by(alice))
    assert again.status_code == 202, again.content
    assert again.json()["name"] == "left-pad"
    strange = Client().post(
        f"{API}/jobs/{job.pk}/again/", content_type=JSON, **by(make_user("bob"))
    )
    assert strange.status_code == 404
    assert (
        Client()
        .post(f"{API}/jobs/{job.pk}/again/", content_type=JSON, **by(alice, "tools:read"))
        .status_code
        == 403
    )


def test_a_sequence_is_begun_with_a_template(alice: User) -> None:
    templates = Client().get(f"{API}/sequences/templates/", **by(alice)).json()
    assert len(templates) > 2
    begun = Client().post(f"{API}/sequences/import/", templates[0], JSON, **by(alice))
    assert begun.status_code == 201, begun.content
    assert begun.json()["name"] == templates[0]["name"]


def test_a_labelled_query_is_changed_in_its_place(alice: User) -> None:
    agent, tool = make_agent(alice), make_builtin("calculator")
    address = f"{API}/agents/{agent.slug}/search-cases/"
    body = {"query": "Add two numbers", "expected": [str(tool.pk)], "history": ["Hello"]}
    made = Client().post(address, body, JSON, **by(alice)).json()
    one = f"{address}{made['id']}/"
    changed = Client().put(one, {"query": "Add three numbers", "expected": []}, JSON, **by(alice))
    assert changed.status_code == 200, changed.content
    told = Client().get(one, **by(alice)).json()
    assert (told["id"], told["query"]) == (made["id"], "Add three numbers")
    assert (told["expected"], told["history"]) == ([], [])
    strange = Client().put(one, body, JSON, **by(make_user("bob")))
    assert strange.status_code == 404
    assert Client().put(one, body, JSON, **by(alice, "agents:read")).status_code == 403


def test_a_case_of_a_bench_is_changed_in_its_place(alice: User) -> None:
    agent = make_agent(alice)
    address = f"{API}/agents/{agent.slug}/bench/cases/"
    made = Client().post(address, {"prompt": "Add", "tool": "adder"}, JSON, **by(alice)).json()
    one = f"{address}{made['id']}/"
    tag = Client().get(one, **by(alice))["ETag"]
    token = by(alice)
    token["headers"]["If-Match"] = tag
    changed = Client().put(one, {"prompt": "Add it", "tool": "none"}, JSON, **token)
    assert changed.status_code == 200, changed.content
    assert Client().put(one, {"prompt": "Again"}, JSON, **token).status_code == 412
    told = Client().get(one, **by(alice)).json()
    assert (told["id"], told["prompt"], told["tool"]) == (made["id"], "Add it", "")
    assert Client().get(one, **by(make_user("bob"))).status_code == 404
    assert Client().put(one, {"prompt": "x"}, JSON, **by(alice, "agents:read")).status_code == 403


def test_cases_of_a_bench_are_sent_together_all_or_none(alice: User) -> None:
    address = f"{API}/agents/{make_agent(alice).slug}/bench/cases/"
    cases = [{"prompt": "Add", "tool": "adder"}, {"prompt": "Hello"}]
    made = Client().post(f"{address}import/", {"cases": cases}, JSON, **by(alice))
    assert made.status_code == 201, made.content
    assert [case["tool"] for case in made.json()] == ["adder", ""]
    more = [{"prompt": "New", "tool": "adder"}, {"prompt": "Wrong", "tool": "two words"}]
    refused = Client().post(f"{address}import/", {"cases": more}, JSON, **by(alice))
    assert refused.status_code == 400
    assert "Line 2" in refused.json()["message"]
    again = Client().post(f"{address}import/", {"cases": cases}, JSON, **by(alice))
    assert again.status_code == 409
    assert len(Client().get(address, **by(alice)).json()) == 2
    empty = Client().post(f"{address}import/", {"cases": []}, JSON, **by(alice))
    assert empty.status_code == 400
