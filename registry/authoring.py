"""How tools that people make are made: one author for each kind, named in `TOOL_AUTHORS`.

The apps above know what a kind's definition means; the REST API of the registry reaches them
through this Protocol and so imports none of them.
"""

from collections.abc import Collection, Iterator
from functools import cache
from typing import Protocol, cast

from django.conf import settings
from django.contrib.auth.models import Group, User
from django.utils.module_loading import import_string

from config.lib.errors import InvalidInput, NotFound
from config.lib.types import JsonObject, JsonValue
from registry.context import CallContext
from registry.models import Tool
from registry.models.package import ReviewStatus
from registry.models.tool import Visibility
from registry.roles import teams_of
from registry.scopes import scope_problems

LONGEST_NAME = 120
LONGEST_DESCRIPTION = 4_000

FIELDS = {
    "name": str,
    "description": str,
    "visibility": str,
    "team": str | None,
    "definition": dict,
    "inputSchema": dict,
    "requiredScopes": list,
    "reason": str,
}
"""Field of a request's body → its type. `team` is the name of a team, `reason` why it changes."""

TYPE_WORDS: dict[object, str] = {str: "text", dict: "an object", list: "a list of texts"}


class ToolAuthor(Protocol):
    """Makes, changes, deletes and starts the tools of one kind."""

    def create(self, user: User, data: JsonObject) -> Tool:
        """Make a tool of `{name, description, visibility, team, definition, inputSchema,
        requiredScopes}`.

        Raises InvalidInput with `extra["problems"]`, one for each field that is wrong.
        """

    def update(self, user: User, tool: Tool, data: JsonObject) -> Tool:
        """Change the named fields of a person's own tool; what is not named stays as it is."""

    def delete(self, user: User, tool: Tool) -> None:
        """Take a person's own tool out of the catalogue."""

    def launch(
        self,
        user: User,
        tool: Tool,
        arguments: JsonValue,
        context: CallContext,
        version: int | None = None,
        wait_seconds: float = 0,
    ) -> JsonObject | None:
        """Start the tool in the background; return `{run, status, url, page}`.

        A run that is over within `wait_seconds` is returned with its `output` and `error`.

        None says that tools of this kind answer at once and are called instead.

        `url` is the run's place in the REST API, `page` the one that a person looks at.

        Raises ToolError when the caller may not use it or the arguments do not fit.
        """


class AsksPeople(Protocol):
    """What authors of tools do besides whose runs ask people something (`RunAsks`)."""

    def answer(
        self, user: User, request: str, *, approved: bool, values: JsonValue = None, note: str = ""
    ) -> None:
        """Answer what a started tool asks (`RunAsks.extra.request`), and let it go on.

        Raises NotFound for what is not this person's to answer, InvalidInput for values that do not
        fit its form, and Conflict when it is no longer asked.
        """

    def asks(self, user: User, request: str) -> bool:
        """Tell whether a question still waits for its answer."""

    def cancel(self, user: User, run: str) -> None:
        """Cancel what was started (`RunAsks.extra.run`); nothing happens where it is over."""


def has_author(kind: str) -> bool:
    """Tell whether people may make tools of this kind."""
    return kind in settings.TOOL_AUTHORS


@cache
def author_for(kind: str) -> ToolAuthor:
    """Return the author of a kind of tool, imported at its first use."""
    if not has_author(kind):
        known = ", ".join(sorted(settings.TOOL_AUTHORS))
        raise InvalidInput(
            f"Tools of type “{kind}” cannot be made here.", f"Types that can: {known}."
        )
    author: ToolAuthor = import_string(settings.TOOL_AUTHORS[kind])()
    return author


def asks_people(kind: str) -> AsksPeople:
    """Return what answers the questions of a kind of tool whose runs ask any."""
    return cast(AsksPeople, author_for(kind))


def checked_fields(noun: str, data: JsonObject) -> JsonObject:
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
    scopes = fields.get("requiredScopes")
    if isinstance(scopes, list) and not all(isinstance(scope, str) for scope in scopes):
        problems += [{"path": "$.requiredScopes", "message": "must be a list of texts"}]
    if problems:
        raise InvalidInput(
            f"The {noun} is not valid.", "Correct the named fields.", problems=problems
        )
    return fields


def present_fields(tool: Tool) -> JsonObject:
    """Return a tool as the body that would make it."""
    return {
        "name": tool.title,
        "description": tool.description,
        "visibility": tool.visibility,
        "team": tool.team.name if tool.team else None,
        "definition": tool.definition,
        "inputSchema": tool.input_schema,
        "requiredScopes": list(tool.required_scopes),
    }


def require_owner(user: User, tool: Tool) -> None:
    """Raise NotFound unless the tool is the person's own."""
    if tool.owner_id != user.pk:
        raise NotFound(
            "There is no such tool among yours.", "Only the owner of a tool may change it."
        )


def team_named(user: User, name: str | None) -> Group | None:
    """Return one of a person's own teams, None for no name; raise InvalidInput for another's."""
    team = teams_of(user).filter(name=name).first() if name else None
    if name and team is None:
        raise InvalidInput(
            f"You are on no team named “{name}”.",
            "Name one of your own teams.",
            problems=[{"path": "$.team", "message": "is none of your teams"}],
        )
    return team


def field_problems(
    noun: str, *, author: User, name: str, description: str, visibility: str, team: Group | None
) -> Iterator[tuple[str, str]]:
    """Yield `(field, message)` for what is wrong with the fields that every made tool has."""
    if not name:
        yield "name", f"Give the {noun} a name."
    elif len(name) > LONGEST_NAME:
        yield "name", f"The name has {len(name)} characters; at most {LONGEST_NAME} fit."
    if not description:
        yield "description", f"Say what the {noun} does: a model chooses its tools by this."
    elif len(description) > LONGEST_DESCRIPTION:
        yield (
            "description",
            f"It has {len(description)} characters; at most {LONGEST_DESCRIPTION} fit.",
        )
    if visibility not in Visibility.values:
        yield "visibility", f"Choose one of {', '.join(Visibility.values)}."
    elif visibility == Visibility.TEAM and (
        team is None or not teams_of(author).filter(pk=team.pk).exists()
    ):
        yield "team", f"Choose one of your own teams, or keep the {noun} to yourself."


def owner_scope_problems(tool: Tool, author: User, scopes: Collection[str]) -> Iterator[str]:
    """Yield what keeps a person from having their own tool require just these scopes.

    What everybody may call was approved with the scopes that it has: its owner may ask for more of
    its callers, and only a governor for less.
    """
    yield from scope_problems(scopes, tool.required_scopes)
    approved = tool.visibility == Visibility.PUBLIC and tool.review_status == ReviewStatus.APPROVED
    if not tool.version or not approved or author.has_perm("registry.change_tool"):
        return
    if dropped := sorted(set(tool.required_scopes) - set(scopes)):
        yield (
            f"Only a governor takes {', '.join(dropped)} away from a tool that was approved for "
            "everyone; you may add scopes."
        )
