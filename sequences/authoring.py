"""Make, change and start sequences for the REST API of the registry."""

from typing import Any

from django.contrib.auth.models import Group, User
from django.urls import reverse

from config.lib.errors import InvalidInput, NotFound
from config.lib.types import JsonObject, JsonValue
from registry.context import CallContext
from registry.models import Tool
from sequences.runs import run_start
from sequences.services import sequence_create, sequence_delete, sequence_update

FIELDS = {
    "name": str,
    "description": str,
    "visibility": str,
    "team": str | None,
    "definition": dict,
    "inputSchema": dict,
}
"""Field of the request's body → its type. `team` is the name of a team."""

TYPE_WORDS: dict[object, str] = {str: "text", dict: "an object"}


class SequenceAuthor:
    """Implements `registry.authoring.ToolAuthor` for tools of type `sequence`."""

    def create(self, user: User, data: JsonObject) -> Tool:
        """Make a sequence; what the body leaves out counts as empty."""
        empty = {"name": "", "description": "", "definition": None, "inputSchema": None}
        return sequence_create(user, **_fields(user, {**empty, **_checked(data)}))

    def update(self, user: User, tool: Tool, data: JsonObject) -> Tool:
        """Change the named fields of a sequence and publish the next version."""
        _require_owner(user, tool)
        present = {
            "name": tool.title,
            "description": tool.description,
            "visibility": tool.visibility,
            "team": tool.team.name if tool.team else None,
            "definition": tool.definition,
            "inputSchema": tool.input_schema,
        }
        fields = _fields(user, {**present, **_checked(data)})
        return sequence_update(tool, author=user, **fields)

    def delete(self, user: User, tool: Tool) -> None:
        """Delete a sequence."""
        _require_owner(user, tool)
        sequence_delete(tool)

    def launch(
        self,
        user: User,
        tool: Tool,
        arguments: JsonValue,
        context: CallContext,
        version: int | None = None,
    ) -> JsonObject:
        """Start a run and return `{run, status, url, page}`."""
        run = run_start(tool, arguments, context=context.derive(user=user), version=version)
        run.refresh_from_db(fields=["status"])
        url = reverse("run-detail", args=[run.pk])
        page = reverse("sequences:run_detail", args=[run.pk])
        return {"run": str(run.pk), "status": run.status, "url": url, "page": page}


def _require_owner(user: User, tool: Tool) -> None:
    if tool.owner_id != user.pk:
        raise NotFound(
            "There is no such tool among yours.", "Only the owner of a tool may change it."
        )


def _checked(data: JsonObject) -> JsonObject:
    """Return the body's fields; raise InvalidInput for each that is unknown or of a wrong type."""
    problems = [
        {"path": f"$.{name}", "message": f"is not known here (known: {', '.join(FIELDS)})"}
        for name in data
        if name not in FIELDS and name != "type"
    ]
    fields = {name: data[name] for name in FIELDS if name in data}
    problems += [
        {"path": f"$.{name}", "message": f"must be {TYPE_WORDS.get(kind, 'text or null')}"}
        for name, kind in FIELDS.items()
        if name in fields and not isinstance(fields[name], kind)
    ]
    if problems:
        raise InvalidInput(
            "The sequence is not valid.", "Correct the named fields.", problems=problems
        )
    return fields


def _fields(user: User, data: JsonObject) -> dict[str, Any]:
    """Return the service's arguments, with the named team among the person's own."""
    fields = dict(data)
    fields["input_schema"] = fields.pop("inputSchema")
    if name := fields.pop("team", None):
        fields["team"] = _team(user, name)
    return fields


def _team(user: User, name: str) -> Group:
    team = user.groups.filter(name=name).first()
    if team is None:
        raise InvalidInput(
            f"You are on no team named “{name}”.",
            "Name one of your own teams.",
            problems=[{"path": "$.team", "message": "is none of your teams"}],
        )
    return team
