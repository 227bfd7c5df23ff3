"""A canary secret at every level, a tool that tries to give it away, and a search for it after.

Everything is real: npm package, sandbox, web, worker, PostgreSQL, Redis, and each way to call.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.models import User
from django.test import Client
from django.urls import NoReverseMatch, reverse

from agents.models import Agent
from agents.oauth.admin import UnseenAdmin
from agents.services import credential_set
from agents.tokens import token_create
from chat.models import Conversation, Turn
from chat.models.turn import OPEN
from registry.importing.npm import npm_import
from registry.models import Invocation, Tool
from registry.models.package import ReviewStatus
from registry.services import package_review
from sequences.models import Run
from tests import factories
from tests.fakes.model_server import MODEL, Call, ModelServer
from tests.live import Live, eventually
from tests.security.traces import (
    forms_of,
    found_in,
    process_list,
    redis_content,
    redis_traffic,
    tables,
)

PERSON = "canary/person+61f0c2a9"
AGENT = "canary/agent+77b31d04"
TALK = "canary/talk+0e9d85c2"
OLD_TALK = "canary/oldtalk+5512aa9e"
CALL = "canary/call+c4470b1f"
PROVIDER = "sk-provider-canary-5d1e0a77"
CANARIES = (PERSON, AGENT, TALK, OLD_TALK, CALL, PROVIDER)
OPEN_INPUT = {"type": "object", "properties": {"how": {"type": "string"}}}


@dataclass
class Visitor:
    """Asks the running product as a person does, and keeps every answer."""

    live: Live
    user: User
    clients: contextlib.ExitStack
    seen: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        browser = Client()
        browser.force_login(self.user)
        cookies = {name: morsel.value for name, morsel in browser.cookies.items()}
        self.web = self.clients.enter_context(
            httpx.Client(base_url=self.live.url, cookies=cookies, timeout=60)
        )
        self.get("/agents/")
        _, token = token_create(self.user, name="canary")
        headers = {"Authorization": f"Bearer {token}"}
        self.api = self.clients.enter_context(
            httpx.Client(base_url=self.live.url, headers=headers, timeout=60)
        )

    def get(self, path: str) -> httpx.Response:
        return self._kept("GET", self.web.get(path))

    def post(self, path: str, data: dict[str, Any], **headers: str) -> httpx.Response:
        token = self.web.cookies.get("csrftoken") or ""
        headers = {"X-CSRFToken": token, "Referer": self.live.url, **headers}
        return self._kept("POST", self.web.post(path, data=data, headers=headers))

    def rest(self, method: str, path: str, body: Any = None) -> httpx.Response:
        return self._kept(method, self.api.request(method, path, json=body))

    def _kept(self, method: str, answer: httpx.Response) -> httpx.Response:
        assert answer.status_code < 500, answer.text
        name = f"{method} {answer.request.url} {len(self.seen)}"
        self.seen[name] = f"{answer.headers}\n{answer.text}"
        return answer


@pytest.fixture
def leaky(live: Live) -> Tool:
    """The tool, imported from npm and approved."""
    package = npm_import(
        name="@outfitter-test/leaky", version="", user=None, stage=lambda words: None
    ).package
    package_review(package, status=ReviewStatus.APPROVED)
    return Tool.objects.get(package=package)


@pytest.fixture
def agent(leaky: Tool, alice: User) -> Agent:
    """Alice's agent, with the tool and a sequence of it, and keys of its own and of hers."""
    step = {
        "stepNumber": 1,
        "toolToRunId": str(leaky.pk),
        "inputMapping": {"how": {"source": "initialInput", "key": "how"}},
        "storeOutputAs": "leaked",
        "outputDisplaySuccess": "Leaked {{ result.all }}",
        "outputDisplayFailure": "Failed {{ error.message }}",
    }
    sequence = factories.make_sequence(
        alice,
        wire_name="leak_by_steps",
        definition={"format": 1, "steps": [step]},
        input_schema=OPEN_INPUT,
        timeout_seconds=60,
    )
    made = factories.make_agent(alice, leaky, sequence, model=MODEL, discovery_mode="linked")
    credential_set(alice, name="KEY_OF_PERSON", value=PERSON)
    credential_set(alice, name="KEY_OF_AGENT", value=AGENT, agent=made)
    return made


@pytest.fixture
def visitor(live: Live, agent: Agent) -> Iterator[Visitor]:
    """Alice, at the running product."""
    with contextlib.ExitStack() as clients:
        yield Visitor(live, agent.owner, clients)


def given_to(invocations: Any) -> set[str]:
    """Return the names of the variables that the tool received in these calls."""
    return {
        name
        for row in invocations
        if isinstance(row.output, dict)
        for name in row.output.get("given", [])
    }


def test_no_canary_leaves_a_trace_anywhere(
    visitor: Visitor,
    agent: Agent,
    leaky: Tool,
    model: ModelServer,
    governor: User,
    sandbox_service: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with redis_traffic() as traffic:
        shown = while_running(lambda: talk(visitor, agent, model))
        call_from_its_page(visitor, leaky)
        call_through_rest(visitor, leaky, agent)
        run_in_the_worker(visitor, agent)
    reached_every_level()
    assert found_in(shown, CANARIES) == [], "the process list"
    look_at_pages(visitor, agent, leaky)
    look_as_governor(visitor, governor)
    for name, text in tables():
        assert found_in(text, CANARIES) == [], f"table {name}"
    for key, text in redis_content():
        assert found_in(text, CANARIES) == [], f"Redis key {key}"
    assert len(traffic) > 50
    assert found_in("\n".join(traffic), CANARIES) == [], "what Redis was sent"
    for name, text in visitor.seen.items():
        assert found_in(text, CANARIES) == [], f"the answer to {name}"
    for process in visitor.live.processes:
        assert found_in(visitor.live.log(process), CANARIES) == [], f"the log of {process}"
    assert found_in(sandbox_service.log + caplog.text, CANARIES) == [], "the sandbox's log"
    assert found_in(str(model.requests), CANARIES) == [], "what the model was sent"


def test_the_search_itself_finds_a_canary_in_every_form(alice: User) -> None:
    for form in forms_of(PERSON):
        agent = factories.make_agent(alice, instructions=f"It is {form}.")
        seen = {name for name, text in tables() if found_in(text, [PERSON])}
        assert "agents_agent" in seen, form
        agent.delete()


def while_running(act: Any) -> str:
    """Do something, and return all process lists that could be seen meanwhile."""
    seen: set[str] = set()
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.05):
            seen.update(process_list().splitlines())

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        act()
    finally:
        over.set()
        thread.join()
    return "\n".join(seen)


def talk(visitor: Visitor, agent: Agent, model: ModelServer) -> None:
    """Chat: through REST with values sent along, as events, and on the page."""
    opened = visitor.rest("POST", "/api/v1/conversations/", {"agent": agent.slug}).json()
    path = f"/api/v1/conversations/{opened['id']}"
    tool = Tool.objects.get(export_name="leak").wire_name
    for how in ("answer", "throw", "crash"):
        model.calls(Call(tool, {"how": how, "wait": 300}), Call("leak_by_steps", {"how": how}))
        key = OLD_TALK if how == "answer" else TALK
        model.enqueue(f"I say {OLD_TALK}, {PERSON} and then {key!r}.")
        body = {"content": f"{how}: my key is {key}", "env": {"KEY_OF_TALK": key}}
        events = visitor.api.post(
            f"{path}/messages/", json=body, headers={"Accept": "text/event-stream"}
        )
        visitor.seen[f"events {how}"] = events.text
        assert "turn.completed" in events.text
        if how == "answer":
            set_it = visitor.post(
                f"/chat/{opened['id']}/variables/",
                {"name": "KEY_OF_TALK", "value": TALK},
                **{"HX-Request": "true"},
            )
            assert set_it.status_code == 200
    model.refuses(401, f"Incorrect API key provided: {PROVIDER}, and {TALK}", "invalid_api_key")
    visitor.rest("POST", f"{path}/messages/", {"content": "once more"})
    for turn in Turn.objects.filter(conversation_id=opened["id"]):
        assert turn.status not in OPEN
        visitor.get(f"/chat/{opened['id']}/turns/{turn.pk}/stream/")
    assert given_to(Invocation.objects.filter(turn_id__isnull=False)) == {
        "KEY_OF_PERSON",
        "KEY_OF_AGENT",
        "KEY_OF_TALK",
    }


def call_from_its_page(visitor: Visitor, leaky: Tool) -> None:
    for how in ("answer", "throw", "crash"):
        answer = visitor.post(f"/tools/{leaky.pk}/try/", {"how": how}, **{"HX-Request": "true"})
        assert ("Succeeded" if how == "answer" else "Failed") in answer.text


def call_through_rest(visitor: Visitor, leaky: Tool, agent: Agent) -> None:
    for how in ("answer", "throw", "crash"):
        body = {
            "arguments": {"how": how},
            "env": {"KEY_OF_CALL": CALL, "NOT_DECLARED": TALK},
            "agent": agent.slug,
        }
        answer = visitor.rest("POST", f"/api/v1/tools/{leaky.pk}/run/", body)
        assert answer.status_code == (200 if how == "answer" else 400)
        if how == "answer":
            assert answer.json()["output"]["given"] == [
                "KEY_OF_PERSON",
                "KEY_OF_AGENT",
                "KEY_OF_CALL",
            ]


def run_in_the_worker(visitor: Visitor, agent: Agent) -> None:
    """A sequence that the worker runs, with values that came with the request."""
    sequence = Tool.objects.get(wire_name="leak_by_steps")
    for how in ("answer", "throw", "crash"):
        body = {"arguments": {"how": how}, "env": {"KEY_OF_CALL": CALL}, "agent": agent.slug}
        launched = visitor.rest("POST", f"/api/v1/tools/{sequence.pk}/run/", body).json()
        run = over(launched["run"])
        if how == "answer":
            assert "KEY_OF_CALL" in str(run.steps.get().output["given"])
            again = visitor.rest(
                "POST", f"/api/v1/runs/{run.pk}/retry/", {"env": {"KEY_OF_CALL": CALL}}
            )
            assert "KEY_OF_CALL" in str(over(again.json()["id"]).steps.get().output["given"])


def over(run_id: str) -> Run:
    """Wait for the end of a run, which takes the values with it that were given."""
    ended = Run.objects.filter(pk=run_id, finished_at__isnull=False)
    run: Run = eventually(ended.first, seconds=90, what="the run's end")
    assert run.given is None
    return run


def reached_every_level() -> None:
    rows = Invocation.objects.filter(tool__export_name="leak")
    assert given_to(rows) == {"KEY_OF_PERSON", "KEY_OF_AGENT", "KEY_OF_TALK", "KEY_OF_CALL"}
    assert set(rows.values_list("caller", flat=True)) == {"chat", "browser", "rest", "sequence"}
    assert set(rows.values_list("error_code", flat=True)) >= {"", "tool_crashed"}


def look_at_pages(visitor: Visitor, agent: Agent, leaky: Tool) -> None:
    conversation = Conversation.objects.get()
    pages = [
        *("/", "/tools/", f"/tools/{leaky.pk}/", "/packages/", f"/packages/{leaky.package_id}/"),
        *("/agents/", f"/agents/{agent.slug}/", "/agents/credentials/", "/agents/tokens/"),
        *("/chat/", f"/chat/{conversation.pk}/", "/sequences/", "/runs/"),
        *(f"/runs/{run.pk}/" for run in Run.objects.all()),
    ]
    for page in pages:
        assert visitor.get(page).status_code in (200, 404), page
    rest = [
        f"/api/v1/conversations/{conversation.pk}/",
        f"/api/v1/conversations/{conversation.pk}/variables/",
        *("/api/v1/conversations/", "/api/v1/runs/", "/api/v1/tools/"),
        *(f"/api/v1/runs/{run.pk}/" for run in Run.objects.all()),
    ]
    for path in rest:
        assert visitor.rest("GET", path).status_code == 200, path


def look_as_governor(visitor: Visitor, governor: User) -> None:
    """Every list and every row of the admin."""
    browser = Client()
    browser.force_login(governor)
    cookie = browser.cookies[settings.SESSION_COOKIE_NAME].value
    visitor.web.cookies.set(settings.SESSION_COOKIE_NAME, cookie)
    visitor.web.cookies = httpx.Cookies({settings.SESSION_COOKIE_NAME: cookie})
    seen = 0
    for kind, shown in admin.site._registry.items():
        if isinstance(shown, UnseenAdmin):
            continue
        name = f"admin:{kind._meta.app_label}_{kind._meta.model_name}"
        assert visitor.get(reverse(f"{name}_changelist")).status_code == 200
        for row in kind._default_manager.all()[:30]:
            try:
                page = visitor.get(reverse(f"{name}_change", args=[row.pk]))
            except NoReverseMatch:
                continue
            assert page.status_code == 200
            assert "gAAAA" not in page.text, "an admin page shows a sealed value"
            seen += 1
    assert seen > 50
