"""What a careless or hostile person sends, and every address they can send it to."""

import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from agents.approval_rules import rule_set
from agents.experiments import ToolsetPlan, experiment_create, present_toolset
from agents.oauth.clients import client_make
from agents.search_cases import case_create
from agents.services import credential_set
from agents.tokens import token_create
from chat.artifacts import ConversationArtifacts
from chat.bench import case_create as bench_case_create
from chat.models import BenchRun, InputRequest, Turn
from chat.models.turn import TurnStatus
from registry.models import AuditEvent, ImportJob, Invocation, SyncFeed, SyncRun
from registry.models.job import JobStatus
from registry.models.package import ReviewStatus
from registry.models.proposal import Cause
from registry.review.staging import package_announce
from sequences.drafts import draft_begin
from sequences.forms.drafts import new_draft
from sequences.models import Run
from sequences.models.run import RunStatus
from sequences.sample_inputs import sample_save
from tests import factories
from tests.factories import make_turn

GARBAGE = {
    "empty": "",
    "spaces": " \t\r\n ",
    "huge": "x" * 200_000,
    "nul": "a\x00b",
    "surrogate": "\ud83d",
    "emoji": "👩‍👩‍👧‍👦🏳️‍🌈",
    "negative": "-1",
    "zero": "0",
    "bigint": "9" * 30,
    "thousands of digits": "9" * 5_000,
    "superscript": "²",
    "infinite": "1e999",
    "not a number": "NaN",
    "words": "abc",
    "markup": "<script>alert(1)</script>{{ 7|add:7 }}{% now %}",
    "sql": "' OR 1=1; --",
    "path": "../../../../etc/passwd",
    "cursor": "cD05OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk%3D",
    "uuid": str(uuid.UUID(int=1)),
    "json": '{"a": [1, {"b": null}]}',
    "deep json": "[" * 50_000,
}
"""What fields are filled with, by what it is called in a test's report."""

FIELDS = (
    *("accept", "action", "after", "agent", "agreed", "approval", "before", "category", "content"),
    *("cursor", "deleted", "description", "discovery_mode", "explain", "expires_at", "from_step"),
    *("health",),
    *("instructions", "kind", "limit", "max_found_tools", "messages", "model", "name", "next"),
    *(
        "owner",
        "page",
        "password",
        "q",
        "reason",
        "state",
        "schema",
        "scopes",
        "status",
        "team",
        "title",
        "tool",
    ),
    *("toolId", "tools", "username", "value", "version", "visibility", "expression", "text"),
    *("steps-0-tool", "steps-0-version", "steps-0-timeout", "steps-0-attempts"),
    *("revision", "base", "strict", "max_runs", "steps-0-key", "steps-0-kind", "steps-0-when"),
    *("steps-0-each-source", "steps-0-each-value", "steps-0-parallel", "steps-0-max_items"),
    *("steps-0-beside", "steps-0-fallback", "steps-0-factor", "steps-0-ask_schema", "besides"),
    *("steps-0-backoff", "steps-0-store_as", "steps-0-in-0-name", "steps-0-in-0-source"),
    *("steps-0-in-0-value", "steps-0-in-0-path", "final-0-name", "final-0-source"),
    *("add", "answered_at", "arguments", "at", "based_on", "below", "body", "cause", "cron", "day"),
    *("do", "document", "earlier", "enabled", "env", "export", "field", "file", "keep", "manifest"),
    *("message", "method", "nothing", "on", "operation", "pattern", "preview", "program"),
    *("queries", "recent", "repeat", "request", "response_path", "row", "sample", "share_b"),
    *("signing", "size", "started_at", "step", "steps", "successor", "timezone", "url", "weekday"),
    *("required_scopes", "calls_per_minute", "cost_per_call", "timeout_seconds"),
    *("final-0-value", "o", "p", "_popup", "_to_field", "csrfmiddlewaretoken", "format"),
    *("decision", "like", "note", "output", "run", "seen", "since", "started", "until", "approved"),
    *("values",),
    *("grant_type", "client_id", "client_secret", "redirect_uri", "response_type", "resource"),
    *("code", "code_challenge", "code_challenge_method", "code_verifier", "refresh_token"),
    *("token", "token_type_hint", "granted", "allow", "deny", "prompt", "nonce", "scope"),
    *("client", "days", "mcp_tools", "tool_scopes"),
    *("arm", "forward_token", "host", "parameters", "port", "returns", "wait"),
    *("from", "to", "period", "part", "of", "sort", "mode", "query", "prompt", "lines"),
)
"""Every field that a form or an address of the product reads, and a few of Django's admin."""

PARAMETER = re.compile(r"<(?:(\w+):)?(\w+)>")


@dataclass(frozen=True)
class Address:
    """A place of the URL configuration; `route` still holds its parameters."""

    route: str

    def filled(self, values: dict[str, Any]) -> str:
        """Return the path with these parameters, and made-up ones for the others."""
        return PARAMETER.sub(
            lambda match: str(values.get(match[2], _made_up(match[1]))), self.route
        )


def _made_up(converter: str | None) -> str:
    return {"uuid": str(uuid.UUID(int=7)), "int": "99999999999999999999"}.get(
        converter or "", "zz-9"
    )


def addresses(under: str = "") -> list[Address]:
    """Return every place below a prefix, except those that only a regular expression describes."""
    routes = {route for route in _routes(get_resolver(), "/") if "(?P" not in route}
    return [Address(route) for route in sorted(routes) if route.startswith(under)]


def _routes(resolver: URLResolver, prefix: str) -> Iterator[str]:
    for item in resolver.url_patterns:
        route = prefix + str(item.pattern).removeprefix("^").removesuffix("$")
        if isinstance(item, URLPattern):
            yield route
        else:
            yield from _routes(item, route)


def hostile_client(user: User | None = None, **options: Any) -> Client:
    """Return a client that is answered with a 500 where another one would see the exception."""
    client = Client(raise_request_exception=False, **options)
    if user is not None:
        client.force_login(user)
    return client


def checked(response: Any) -> Any:
    """Return the response; fail where the product broke instead of refusing."""
    if response.status_code >= 500:
        error = getattr(response, "exc_info", None)
        cause = error[1] if error else None
        request = response.request
        raise AssertionError(
            f"{response.status_code} for {request['REQUEST_METHOD']} {request['PATH_INFO'][:200]}"
            f"?{request['QUERY_STRING'][:200]}: {cause!r:.500}"
        ) from cause
    return response


def refusal_of(response: Any) -> Any:
    """Return the body of a refusal by the REST API; fail where it has another shape."""
    checked(response)
    assert response.status_code >= 400, response.content[:300]
    body = response.json()
    assert set(body) == {"code", "message", "hint", "extra"}, body
    assert body["code"] and body["message"], body
    assert isinstance(body["hint"], str) and isinstance(body["extra"], dict), body
    return body


def belongings_of(owner: User) -> dict[str, Any]:
    """Make one of everything for a person; return URL parameter → its value."""
    calculator = factories.make_builtin("calculator")
    sequence = factories.make_sequence(owner)
    agent = factories.make_agent(owner, calculator, sequence, model="demo/offline")
    conversation = factories.make_conversation(owner, agent)
    now = timezone.now()
    turn = make_turn(conversation=conversation, number=1, status=TurnStatus.QUEUED)
    Turn.objects.filter(pk=turn.pk).update(status=TurnStatus.STOPPED, finished_at=now)
    package = factories.make_package(added_by=owner, review_status=ReviewStatus.CANDIDATE)
    run = Run.objects.create(
        tool=sequence,
        tool_version=sequence.versions.get(),
        user=owner,
        caller="browser",
        input={"text": "1+1"},
    )
    Run.objects.filter(pk=run.pk).update(status=RunStatus.CANCELLED, finished_at=now)
    doubtful = run.steps.create(number=1, tool=calculator, status="in_doubt", started_at=now)
    waiting = run.steps.create(number=2, status="waiting", started_at=now)
    asked = run.requests.create(step=waiting, title="Go on?")
    saved = run.artifacts.create(
        name="a.txt", version=1, media_type="text/plain", size=1, digest="0" * 64, content=b"a"
    )
    job = ImportJob.objects.create(
        ecosystem="npm", name=package.name, requested_by=owner, status=JobStatus.FAILED
    )
    experiment = experiment_create(
        agent,
        by=owner,
        name="Without the sequence",
        a=present_toolset(agent),
        b=ToolsetPlan(tools={}, discovery_mode="auto"),
    )
    case = case_create(agent, by=owner, query="What is 17 times 23?", expected=[calculator.pk])
    bench_case = bench_case_create(agent, prompt="What is 17 times 23?", tool="calculator")
    bench_run = BenchRun.objects.create(agent=agent, model="demo/offline", state="done")
    bench_run.results.create(place=1, prompt="What is 1 + 1?", expected="calculator")
    feed = SyncFeed.objects.create(kind="keyword", keyword="tools")
    look = SyncRun.objects.create(feed=feed, finished_at=now)
    proposal = package_announce(package, by=owner, cause=Cause.IMPORT)
    assert proposal is not None
    credential = credential_set(owner, name="EXA_API_KEY", value="secret-value")
    token, _ = token_create(owner, name="script", expires_at=now + timedelta(days=1))
    artifact = ConversationArtifacts(turn.conversation_id).save("a.txt", b"a", "text/plain")
    invocation = Invocation.objects.create(
        tool=calculator,
        tool_version=1,
        caller="browser",
        user=owner,
        outcome="succeeded",
        phase="execute",
        arguments={"expression": "1+1"},
        output=2,
        duration_ms=1,
    )
    request = InputRequest.objects.create(
        turn=turn,
        kind="question",
        call_id="call_1",
        tool_name="ask_user",
        asked={"question": "Which?", "options": []},
        answer={"decision": "stopped"},
        answered_at=now,
    )
    subscription = factories.make_event_subscription(owner)
    draft = draft_begin(owner, new_draft())
    return {
        "owner": owner,
        "schedule_id": factories.make_schedule(owner, sequence).pk,
        "subscription_id": subscription.pk,
        "delivery_id": subscription.deliveries.get().pk,
        "webhook_id": factories.make_webhook(owner, sequence).pk,
        "request_id": request.pk,
        "tool_id": sequence.pk,
        "template": "clean-and-count",
        "event_id": AuditEvent.objects.latest("id").pk,
        "proposal_id": proposal.pk,
        "number": 1,
        "before": 0,
        "after": 1,
        "slug": agent.slug,
        "conversation_id": conversation.pk,
        "turn_id": turn.pk,
        "bench_case_id": bench_case.pk,
        "bench_run_id": bench_run.pk,
        "queued_id": conversation.queued.create(content="Later").pk,
        "artifact_id": artifact["id"],
        "name": "EXA_API_KEY",
        "package_id": package.pk,
        "job_id": job.pk,
        "run_id": run.pk,
        "draft_id": draft.pk,
        "step_key": draft.document["steps"][0]["key"],
        "sample_id": sample_save(draft, "Short", {"text": "a"}).pk,
        "other_id": run.pk,
        "step_id": doubtful.pk,
        "ask_id": asked.pk,
        "file_id": saved.pk,
        "feed_id": feed.pk,
        "sync_run_id": look.pk,
        "invocation_id": invocation.pk,
        "credential_id": credential.pk,
        "experiment_id": experiment.pk,
        "case_id": case.pk,
        "rule_id": rule_set(agent, "@writes", "ask").pk,
        "version": 0,
        "token_id": token.pk,
        "client_id": client_make(agent, name="Nightly")[0].pk,
        "resource_path": f"mcp/agents/{agent.slug}",
        "builtin": calculator.pk,
    }
