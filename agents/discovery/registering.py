"""Tools that programs register while everything runs, and take away again."""

from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction

from agents.discovery.calling import NAME
from agents.discovery.parameters import schema_of
from agents.discovery.request_of import definition_of, request_problems
from config.lib.changes import decided
from config.lib.errors import Conflict, InvalidInput, NotFound
from config.lib.types import JsonObject
from registry.api_definition import ApiInvalid
from registry.api_tools import ApiFields, api_tool_impact, api_tool_save, new_api_tool
from registry.authoring import team_named
from registry.impact.asked import impact_of_end
from registry.impact.parts import Impact
from registry.models import Tool
from registry.models.package import ReviewStatus
from registry.models.tool import ToolKind, Visibility
from registry.review.drafts import draft_of
from registry.review.trusting import pass_own
from registry.services import tool_delete
from registry.wire_names import wire_name

REASON = "Registered by a program"
PROBLEMS_TOLD = 3


@dataclass(frozen=True, kw_only=True)
class Registered:
    """A tool as its registrar has it now; `created` is whether it is new.

    `changed` says that this registration made another version of it, `impact` what that does to
    those who use the one before.
    """

    tool: Tool
    created: bool
    changed: bool
    impact: Impact | None

    @property
    def state(self) -> str:
        """Return `live` for what others have, `waiting` for review, or `private`."""
        tool = self.tool
        if tool.visibility != Visibility.PUBLIC:
            return "private" if tool.visibility == Visibility.PRIVATE else "team"
        approved = tool.review_status == ReviewStatus.APPROVED
        return "live" if approved and not tool.live_version else "waiting"

    @property
    def words(self) -> str:
        """Say how it stands, for whoever registered it."""
        told = f"{self.tool.wire_name} is registered as version {self.tool.version}."
        match self.state:
            case "live":
                return f"{told} Everybody whose scopes allow it has it now."
            case "waiting" if self.tool.live_version:
                return (
                    f"{told} It waits for review; everybody else has version "
                    f"{self.tool.live_version} until then."
                )
            case "waiting":
                return f"{told} It waits for review; until then only you have it."
            case state:
                return f"{told} It is for {'your team' if state == 'team' else 'you'} only."


def tool_register(user: User, body: JsonObject) -> Registered:
    """Make a tool of what a program says of a service, or its next version where it is theirs.

    `body` is `{name, url | host port endpoint, method, description, parameters, returns, scopes,
    visibility, team, forward_token}`, all there. What is public waits for review, unless its
    registrar is trusted. Raises InvalidInput with each problem and its place, Conflict where
    somebody else has the name.
    """
    name = body["name"]
    _require_wire_name(name)
    schema, problems = schema_of(body["parameters"])
    problems += request_problems(body)
    with transaction.atomic(), decided(user, REASON):
        row = Tool.objects.select_for_update().filter(wire_name=name, deleted_at=None).first()
        if row is not None and (row.owner_id != user.pk or row.kind != ToolKind.API):
            raise _taken(name, own=row.owner_id == user.pk)
        before = draft_of(row).version if row else 0
        fields = ApiFields(
            name=row.title if row else name,
            description=body["description"],
            definition=definition_of(body, schema),
            input_schema=schema,
            output_schema={"description": body["returns"]} if body["returns"] else None,
            visibility=body["visibility"],
            team=team_named(user, body["team"]),
            required_scopes=body["scopes"],
            reason=REASON,
        )
        tool = row or new_api_tool(user)
        try:
            impact = api_tool_impact(tool, author=user, fields=fields)
        except ApiInvalid as error:
            problems += [
                (_place(problem.path, body), problem.message) for problem in error.problems
            ]
        if problems:
            raise _invalid(problems)
        tool = api_tool_save(tool, author=user, fields=fields)
        if tool.wire_name != name:
            raise _taken(name, own=False)
        changed = tool.version != before
        pass_own(tool, by=user)
        tool = draft_of(Tool.objects.get(pk=tool.pk))
    return Registered(tool=tool, created=row is None, changed=changed, impact=impact)


def tool_unregister(user: User, name: str) -> tuple[UUID, Impact]:
    """Take a registered tool of a person's own away; return its id and what loses it."""
    with transaction.atomic(), decided(user, "Unregistered by a program"):
        row = (
            Tool.objects.select_for_update()
            .filter(wire_name=name, owner=user, kind=ToolKind.API, deleted_at=None)
            .first()
            if NAME.fullmatch(name)
            else None
        )
        if row is None:
            raise NotFound(
                f"You have registered no tool “{name[:100]}”.",
                "Only who registered a tool takes it away; a governor may stop it.",
            )
        impact = impact_of_end(row, user=user)
        tool_delete(row)
    return row.pk, impact


_PLACES = (
    ("$.inputSchema.properties", "$.parameters"),
    ("$.inputSchema", "$.parameters"),
    ("$.requiredScopes", "$.scopes"),
    ("$.definition.body.value", "$.parameters"),
    ("$.definition.query", "$.parameters"),
    ("$.definition.", "$."),
)
"""Where a problem of the tool stands → where it stands in what was sent."""


def _place(path: str, body: JsonObject) -> str:
    for inner, sent in _PLACES:
        if path.startswith(inner):
            path = sent + path.removeprefix(inner)
            break
    return "$.endpoint" if path == "$.url" and not body.get("url") else path


def _require_wire_name(name: str) -> None:
    meant = wire_name(None, name, lambda taken: False)
    if meant != name:
        raise _invalid([("$.name", f"Models could not call it so; name it like “{meant}”.")])


def _taken(name: str, *, own: bool) -> Conflict:
    if own:
        return Conflict(
            f"You have another kind of tool that is called “{name}”.",
            "Choose another name, or delete that one.",
        )
    return Conflict(
        f"Somebody else has a tool that is called “{name}”.",
        "Choose another name, such as one with your team's in front.",
    )


def _invalid(problems: list[tuple[str, str]]) -> InvalidInput:
    told = "; ".join(f"{path[2:]}: {message}" for path, message in problems[:PROBLEMS_TOLD])
    return InvalidInput(
        f"The tool cannot be registered: {told}",
        "Correct the named fields and register it again.",
        problems=[{"path": path, "message": message} for path, message in problems],
    )
