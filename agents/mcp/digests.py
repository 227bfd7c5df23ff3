"""What the list of an endpoint's tools is made of, as a short text that changes when it does."""

import hashlib
import json

from django.contrib.auth.models import User
from django.contrib.postgres.aggregates import StringAgg
from django.db.models import Func, QuerySet, TextField, Value
from django.db.models.functions import MD5

from agents.access import linked_toolset
from agents.mcp.endpoint import Endpoint, tools_of
from agents.mcp.meta import code_of
from agents.models import Agent
from agents.models.agent import McpTools
from config.lib.errors import DomainError
from registry.models import Tool
from registry.specs import ToolSpec

GONE = "gone"
"""The digest of an endpoint that its client may not come to any more."""

_LISTED = (
    *("pk", "wire_name", "version", "required_scopes", "deprecated_on", "successor__wire_name"),
    *("package__allowed_hosts",),
)
"""What decides on how a tool is listed; whatever else is listed of it makes a new version."""


def digest_of(endpoint: Endpoint) -> str:
    """Return the digest of the list as it is now: two that are alike list the same.

    Nothing of the endpoint is taken as it was when its client came, but who that is, its scopes and
    which agent's the address is.
    """
    user = User.objects.filter(pk=endpoint.bearer.user.pk, is_active=True).first()
    if user is None:
        return GONE
    agent = None
    if endpoint.agent is not None:
        agent = Agent.objects.filter(pk=endpoint.agent.pk).first()
        if agent is None:
            return GONE
    code = code_of(Endpoint(bearer=endpoint.bearer, agent=agent))
    parts = [code.digest if code else "", agent.mcp_tools if agent else McpTools.ALL]
    if not endpoint.progressive:
        parts.append(_of_agent(endpoint, agent, user) if agent else _of_person(endpoint, user))
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _of_agent(endpoint: Endpoint, agent: Agent, user: User) -> str:
    scopes = endpoint.bearer.scopes
    held = frozenset(agent.scopes) if scopes is None else scopes & frozenset(agent.scopes)
    try:
        specs = linked_toolset(agent, user).values()
    except DomainError as error:  # the list itself is answered with this
        return error.message
    listed = [spec for spec in specs if spec.required_scopes <= held]
    rows = Tool.objects.filter(pk__in=[spec.tool_id for spec in listed])
    return json.dumps([sorted(map(_as_linked, listed)), _rows(rows)])


def _of_person(endpoint: Endpoint, user: User) -> str:
    rows = tools_of(user)
    if endpoint.bearer.scopes is not None:
        rows = rows.filter(required_scopes__contained_by=sorted(endpoint.bearer.scopes))
    return _rows(rows)


def _as_linked(spec: ToolSpec) -> tuple[str, str, str]:
    return spec.wire_name, spec.digest, spec.told


def _rows(tools: QuerySet[Tool]) -> str:
    """Return a digest of rows, worked out by the database: there may be ten thousand."""
    line = Func(Value("/"), *_LISTED, function="concat_ws", output_field=TextField())
    together = StringAgg(line, delimiter=",", order_by=("pk",))
    digest: str | None = tools.order_by().aggregate(digest=MD5(together))["digest"]
    return digest or ""
