"""No token gets by way of something else what it does not carry itself."""

from typing import Any

import pytest
from django.test import Client

from agents.models import Agent
from agents.oauth.clients import client_make
from agents.tokens import token_create
from registry.models import Invocation, Tool
from sequences.drafts import draft_begin
from sequences.forms.drafts import new_draft
from sequences.models import Run, Schedule, Webhook
from tests import factories
from tests.agents.oauth.flows import ask, rest

pytestmark = pytest.mark.django_db
EVERYTHING = "tools:read tools:run tools:write agents:read"


@pytest.fixture
def agent(alice: Any) -> Agent:
    return factories.make_agent(alice, slug="desk", scopes=["mail:send"])


@pytest.fixture
def token(agent: Agent) -> str:
    """Give the token of an agent's own program, with all that it may have of ours."""
    client, secret = client_make(agent, name="Nightly")
    got = ask(
        grant_type="client_credentials",
        client_id=client.client_id,
        client_secret=secret,
        scope=EVERYTHING,
    )
    text: str = got.json()["access_token"]
    return text


def send(method: str, path: str, token: str, body: Any = None) -> Any:
    return getattr(Client(), method)(
        f"/api/v1/{path}",
        body or {},
        content_type="application/json",
        HTTP_AUTHORIZATION=f"Bearer {token}",
    )


def make_run(sequence: Tool, **fields: Any) -> Run:
    return Run.objects.create(
        tool=sequence,
        tool_version=sequence.versions.get(),
        user=sequence.owner,
        input={},
        caller="rest",
        **fields,
    )


def limited(user: Any, *scopes: str) -> str:
    return token_create(user, name="limited", scopes=scopes)[1]


@pytest.mark.parametrize("scope", ["chat", "events:read", "events:write"])
def test_an_agents_program_neither_chats_nor_hears_of_what_others_do(agent, scope):
    client, secret = client_make(agent, name="Nightly")
    answer = ask(
        grant_type="client_credentials",
        client_id=client.client_id,
        client_secret=secret,
        scope=scope,
    )

    assert answer.json()["error"] == "invalid_scope"


def test_an_agents_program_sees_the_runs_of_its_agent_alone(agent, alice, token):
    sequence = factories.make_sequence(alice)
    own, other = (make_run(sequence, agent=who) for who in (agent, None))

    listed = rest("runs/", token).json()["results"]
    assert [run["id"] for run in listed] == [str(own.pk)]
    assert rest(f"runs/{own.pk}/", token).status_code == 200
    assert rest(f"runs/{other.pk}/", token).status_code == 404
    for act in ("cancel", "retry"):
        assert send("post", f"runs/{other.pk}/{act}/", token).status_code == 404
    assert len(rest("runs/", limited(alice, "tools:read")).json()["results"]) == 2


def test_an_agents_program_sees_the_calls_of_its_agent_alone(agent, alice, token):
    tool = factories.make_builtin("calculator")
    own, other = (
        Invocation.objects.create(
            tool=tool,
            tool_version=1,
            user=alice,
            agent_id=of,
            arguments={},
            caller="rest",
            outcome="succeeded",
            duration_ms=1,
        )
        for of in (agent.pk, None)
    )

    listed = rest("invocations/", token).json()["results"]
    assert [call["id"] for call in listed] == [str(own.pk)]
    assert rest(f"invocations/{own.pk}/", token).status_code == 200
    assert rest(f"invocations/{other.pk}/", token).status_code == 404


@pytest.mark.parametrize("part", ["requests", "steps"])
def test_an_agents_program_answers_nothing_for_a_person(agent, alice, token, part):
    sequence = factories.make_sequence(alice)
    run = make_run(sequence, agent=agent)
    path = f"runs/{run.pk}/{part}/{run.pk}/" + ("resolve/" if part == "steps" else "")
    body = {"approved": True} if part == "requests" else {"action": "retry"}
    refused = send("post", path, token, body)

    assert refused.status_code == 403, refused.content
    assert refused.json()["message"] == "An agent's own token does not answer for a person."
    assert send("post", path, limited(alice, "tools:run"), body).status_code == 404


def test_an_agents_program_makes_no_triggers(alice, token):
    sequence = factories.make_sequence(alice)
    schedule = factories.make_schedule(alice, sequence)
    webhook = factories.make_webhook(alice, sequence)
    refusals = [
        send(
            "post",
            f"sequences/{sequence.pk}/schedules/",
            token,
            {"name": "x", "cron": "0 9 * * *", "input": {"text": "1"}},
        ),
        send("post", f"sequences/{sequence.pk}/webhooks/", token, {"name": "x"}),
        send("patch", f"schedules/{schedule.pk}/", token, {"enabled": False}),
        send("delete", f"schedules/{schedule.pk}/", token),
        send("patch", f"webhooks/{webhook.pk}/", token, {"enabled": False}),
        send("delete", f"webhooks/{webhook.pk}/", token),
        send("post", f"webhooks/{webhook.pk}/secret/", token),
        send("post", f"webhooks/{webhook.pk}/test/", token),
    ]

    assert [answer.status_code for answer in refusals] == [403] * 8, refusals
    told = {answer.json()["message"] for answer in refusals}
    assert told == {"An agent's own token makes and changes no triggers."}
    assert (Schedule.objects.count(), Webhook.objects.count()) == (1, 1)


def test_an_agents_program_sees_and_makes_no_tests_of_a_persons_draft(alice, token):
    draft = draft_begin(alice, new_draft())
    parts = ("tests/", "outputs/", "outputs/said/", "samples/", "samples/1/")
    answers = [
        *(rest(f"drafts/{draft.pk}/{part}", token) for part in parts),
        send("post", f"drafts/{draft.pk}/tests/", token),
        send("put", f"drafts/{draft.pk}/outputs/said/", token, {"output": 1}),
        send("post", f"drafts/{draft.pk}/samples/", token, {"name": "a", "input": {}}),
    ]

    assert [answer.status_code for answer in answers] == [403] * 8, answers
    told = {answer.json()["message"] for answer in answers}
    assert told == {"An agent's own token neither tests drafts nor sees their tests."}
    assert not Run.objects.exists()
    assert rest(f"drafts/{draft.pk}/", token).status_code == 200


@pytest.mark.parametrize("act", ["secret", "test"])
@pytest.mark.parametrize("held", [None, ["mail:send", "tools:run"]])
def test_a_narrow_token_starts_no_runs_that_may_do_more(alice, act, held):
    webhook = factories.make_webhook(alice, scopes=held, input_mapping={"text": "body.text"})
    path = f"webhooks/{webhook.pk}/{act}/"

    refused = send("post", path, limited(alice, "tools:run", "tools:write"))
    assert refused.status_code == 403, refused.content
    assert refused.json()["message"] == "The runs of this webhook may do more than this token."
    body = {"body": {"text": "1+1"}}
    assert send("post", path, limited(alice), body).status_code in (200, 202)
    wide = send("post", path, limited(alice, "tools:run", "tools:write", "mail:send"), body)
    assert (wide.status_code == 403) is (held is None), wide.content


def test_a_narrow_token_grants_no_agent_what_it_lacks(alice, agent):
    narrow = limited(alice, "agents:read", "agents:write")
    document = rest("agents/desk/export/", narrow).json()
    refusals = [
        send("post", "agents/", narrow, {"name": "New", "scopes": ["mail:send"]}),
        send("patch", "agents/desk/", narrow, {"scopes": ["mail:send", "mail:read"]}),
        send("post", "agents/desk/clone/", narrow),
        send("post", "agents/import/", narrow, document),
    ]

    assert [answer.status_code for answer in refusals] == [403] * 4
    assert refusals[0].json()["message"] == "This token lacks the scope “mail:send”."
    assert 'error="insufficient_scope"' in refusals[0]["WWW-Authenticate"]
    assert send("patch", "agents/desk/", narrow, {"scopes": ["mail:send"]}).status_code == 200
    wide = limited(alice, "agents:write", "mail:send")
    assert send("post", "agents/desk/clone/", wide).status_code == 201
    assert Agent.objects.filter(owner=alice).count() == 2


def test_a_narrow_token_does_not_get_what_another_was_answered(alice):
    tool = factories.make_builtin("calculator", required_scopes=["sums:do"])
    call = {"arguments": {"expression": "6*7"}}

    def run(token: str) -> Any:
        return Client().post(
            f"/api/v1/tools/{tool.pk}/run/",
            call,
            content_type="application/json",
            HTTP_AUTHORIZATION=f"Bearer {token}",
            HTTP_IDEMPOTENCY_KEY="k-1",
        )

    first, again = (
        run(limited(alice, "tools:run", "sums:do")),
        run(limited(alice, "sums:do", "tools:run")),
    )
    assert first.status_code == again.status_code == 200
    assert again["Idempotent-Replayed"] == "true"
    assert run(limited(alice, "tools:run")).status_code == 403
