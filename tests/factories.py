"""Make rows for tests: one short function per thing, every detail may be named."""

from itertools import count
from typing import Any

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group, User
from django.utils import timezone

from agents.models import Agent, AgentTool
from chat.models import Conversation, Turn
from config.lib.sealing import seal
from registry.models import EventSubscription, Package, Tool
from registry.models.package import Ecosystem, ReviewStatus
from registry.models.tool import ToolKind, Visibility
from registry.notify import signing
from registry.services import tool_publish
from sequences.models import Schedule, Webhook
from sequences.triggers.signatures import new_secret

_numbers = count(1)

TEXT_SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string", "description": "Any text."}},
    "required": ["text"],
    "additionalProperties": False,
}


def make_user(username: str = "", **fields: Any) -> User:
    """Make a person whose password is `secret-<username>`."""
    username = username or f"person{next(_numbers)}"
    return User.objects.create_user(username, password=f"secret-{username}", **fields)


def make_person(username: str, **fields: Any) -> User:
    """Make a person who can sign in to the running product; the password is `secret-<username>`.

    That process does not take the quick hash that passwords have in tests.
    """
    password = make_password(f"secret-{username}", hasher="pbkdf2_sha256")
    return User.objects.create(username=username, password=password, **fields)


def make_team(name: str = "", *members: User) -> Group:
    """Make a team of these people."""
    team = Group.objects.create(name=name or f"team{next(_numbers)}")
    team.user_set.add(*members)
    return team


def make_package(**fields: Any) -> Package:
    """Make an approved npm package."""
    values: dict[str, Any] = {
        "ecosystem": Ecosystem.NPM,
        "name": f"@acme/package-{next(_numbers)}",
        "version": "1.0.0",
        "review_status": ReviewStatus.APPROVED,
    }
    return Package.objects.create(**{**values, **fields})


def builtin_package() -> Package:
    """Return the package of the built-ins, made at its first use."""
    package, _ = Package.objects.get_or_create(
        ecosystem=Ecosystem.BUILTIN,
        name="outfitter",
        defaults={"review_status": ReviewStatus.APPROVED},
    )
    return package


def make_tool(**fields: Any) -> Tool:
    """Make a published, public, approved npm tool that takes `{text}`."""
    number = next(_numbers)
    values: dict[str, Any] = {
        "kind": ToolKind.NPM,
        "export_name": f"tool{number}",
        "wire_name": f"tool_{number}",
        "title": f"Tool {number}",
        "description": "Does something with a text.",
        "input_schema": TEXT_SCHEMA,
        "visibility": Visibility.PUBLIC,
        "review_status": ReviewStatus.APPROVED,
        **fields,
    }
    if values["kind"] != ToolKind.SEQUENCE and "package" not in values:
        values["package"] = make_package()
    tool = Tool(**values)
    tool_publish(tool, author=None)
    return tool


def make_builtin(name: str = "calculator", **fields: Any) -> Tool:
    """Make the catalogue row of one real built-in tool."""
    from registry.builtins import BUILTINS

    builtin = BUILTINS[name]
    return make_tool(
        **{
            "package": builtin_package(),
            "kind": ToolKind.BUILTIN,
            "export_name": builtin.name,
            "wire_name": builtin.name,
            "title": builtin.title,
            "description": builtin.description,
            "category": builtin.category,
            "input_schema": dict(builtin.input_schema),
            "output_schema": dict(builtin.output_schema) if builtin.output_schema else None,
            "ai_agent": dict(builtin.ai_agent),
            **fields,
        }
    )


def make_run_code(**fields: Any) -> Tool:
    """Make the catalogue row of the tool that runs programs."""
    from registry.code_tool import ROW, RUN_CODE

    values = {**ROW, "package": builtin_package(), "kind": ToolKind.CODE}
    return make_tool(**{**values, "export_name": RUN_CODE, "wire_name": RUN_CODE, **fields})


def make_schedule(owner: User, tool: Tool | None = None, **fields: Any) -> Schedule:
    """Make a schedule of each morning, unless the fields say otherwise."""
    values = {"cron": "0 9 * * *", "input": {"text": "1+1"}, "next_at": timezone.now(), **fields}
    return Schedule.objects.create(tool=tool or make_sequence(owner), owner=owner, **values)


def make_webhook(owner: User, tool: Tool | None = None, **fields: Any) -> Webhook:
    """Make a webhook; its secret is that of a new one of its kind."""
    signing = fields.setdefault("signing", "standard")
    fields.setdefault("secret", seal(new_secret(signing)))
    return Webhook.objects.create(tool=tool or make_sequence(owner), owner=owner, **fields)


def make_event_subscription(owner: User, **fields: Any) -> EventSubscription:
    """Return a subscription with one delivery; it leads to an address that nobody may ask."""
    subscription = EventSubscription.objects.create(
        owner=owner,
        secret=seal(signing.new_secret()),
        **{"url": "https://127.0.0.1:9/events", "types": ["run.failed"], **fields},
    )
    payload = {"type": "run.failed", "timestamp": "2026-01-01T00:00:00+00:00", "data": {}}
    subscription.deliveries.create(event_id="evt_1", type="run.failed", payload=payload)
    return subscription


def make_sequence(owner: User, **fields: Any) -> Tool:
    """Make a private one-step sequence of the calculator, unless `definition` says otherwise."""
    definition = fields.pop("definition", None)
    if definition is None:
        calculator = Tool.objects.filter(wire_name="calculator", deleted_at=None).first()
        definition = {
            "format": 1,
            "steps": [
                {
                    "stepNumber": 1,
                    "toolToRunId": str((calculator or make_builtin("calculator")).pk),
                    "inputMapping": {"expression": {"source": "initialInput", "key": "text"}},
                    "storeOutputAs": "answer",
                }
            ],
        }
    return make_tool(
        **{
            "kind": ToolKind.SEQUENCE,
            "owner": owner,
            "visibility": Visibility.PRIVATE,
            "definition": definition,
            **fields,
        }
    )


def make_agent(owner: User, *tools: Tool, **fields: Any) -> Agent:
    """Make an agent with these tools linked."""
    number = next(_numbers)
    agent = Agent.objects.create(
        **{"owner": owner, "slug": f"agent-{number}", "name": f"Agent {number}", **fields}
    )
    AgentTool.objects.bulk_create(AgentTool(agent=agent, tool=tool) for tool in tools)
    return agent


def make_conversation(user: User, agent: Agent | None = None, **fields: Any) -> Conversation:
    """Make an empty conversation."""
    return Conversation.objects.create(
        **{"user": user, "agent": agent or make_agent(user), **fields}
    )


def make_turn(conversation: Conversation, **fields: Any) -> Turn:
    """Make the next turn of a conversation, behind the one that is shown last."""
    fields.setdefault("number", conversation.turns.count() + 1)
    turn = Turn.objects.create(conversation=conversation, parent_id=conversation.head_id, **fields)
    conversation.head = turn
    Conversation.objects.filter(pk=conversation.pk).update(head=turn)
    return turn
