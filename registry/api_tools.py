"""HTTP tools that people make: checked, saved, published, deleted."""

import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from django.contrib.auth.models import Group, User

from config.lib.jsontext import clean_text, size_of, storable
from config.lib.types import JsonObject, JsonValue
from registry.api_definition import (
    NO_INPUT,
    ApiDefinition,
    ApiInvalid,
    ApiProblem,
    parse,
    to_json,
)
from registry.api_rules import rule_problems
from registry.authoring import (
    checked_fields,
    field_problems,
    owner_scope_problems,
    present_fields,
    require_owner,
    team_named,
)
from registry.context import CallContext
from registry.impact.agreement import edit_impact
from registry.impact.parts import Impact
from registry.models import Tool
from registry.models.tool import ToolKind, Visibility
from registry.review.drafts import draft_of, tool_write
from registry.schemas import check_schema
from registry.services import tool_delete

LARGEST_DEFINITION = 100_000
"""Bytes of JSON that a definition, and an input schema, may have."""


@dataclass(frozen=True, kw_only=True)
class ApiFields:
    """What a person says of an HTTP tool; `definition` and `input_schema` are unchecked JSON.

    An `output_schema` of None stays as it is.
    """

    name: str
    description: str
    definition: JsonValue
    input_schema: JsonValue
    visibility: str
    team: Group | None = None
    required_scopes: Collection[str] = ()
    output_schema: JsonObject | None = None
    reason: str = ""


def new_api_tool(owner: User) -> Tool:
    """Return the row of an HTTP tool that is not saved yet."""
    return Tool(kind=ToolKind.API, owner=owner)


def api_tool_save(tool: Tool, *, author: User, fields: ApiFields) -> Tool:
    """Save an HTTP tool and publish the next version where what it does changed.

    Raises ApiInvalid with everything that is wrong, each problem with its place.
    """
    cleaned = _cleaned(fields)
    definition = _checked(tool, author, cleaned)
    tool.timeout_seconds = definition.timeout_seconds
    return tool_write(
        tool,
        author=author,
        name=cleaned.name,
        description=cleaned.description,
        definition=to_json(definition),
        input_schema=cleaned.input_schema,
        visibility=cleaned.visibility,
        team=cleaned.team,
        required_scopes=cleaned.required_scopes,
        output_schema=cleaned.output_schema,
        reason=cleaned.reason,
    )


def api_tool_impact(tool: Tool, *, author: User, fields: ApiFields) -> Impact | None:
    """Return what these fields would do to whatever uses the tool; None for a new one.

    Raises ApiInvalid as `api_tool_save` does.
    """
    cleaned = _cleaned(fields)
    _checked(tool, author, cleaned)
    return edit_impact(tool, {"input_schema": cleaned.input_schema}, user=author)


def _cleaned(fields: ApiFields) -> ApiFields:
    return replace(
        fields,
        name=clean_text(fields.name).strip(),
        description=clean_text(fields.description).strip(),
        definition=storable(fields.definition),
        input_schema=storable(fields.input_schema),
    )


def _checked(tool: Tool, author: User, fields: ApiFields) -> ApiDefinition:
    schema = fields.input_schema
    problems = [
        ApiProblem(f"$.{field}", message)
        for field, message in field_problems(
            "tool",
            author=author,
            name=fields.name,
            description=fields.description,
            visibility=fields.visibility,
            team=fields.team,
        )
    ]
    problems += [
        ApiProblem("$.requiredScopes", message)
        for message in owner_scope_problems(tool, author, fields.required_scopes)
    ]
    if too_large := _size_problems(fields):
        raise ApiInvalid([*problems, *too_large])
    problems += [
        ApiProblem("$.inputSchema" + problem.path[1:], problem.message)
        for problem in check_schema(schema)
    ]
    inputs = schema if isinstance(schema, dict) else {}
    try:
        definition = parse(fields.definition)
    except ApiInvalid as error:
        rest = _problems_of_the_rest(fields.definition, error.problems, inputs)
        raise ApiInvalid([*problems, *error.problems, *rest]) from None
    problems += rule_problems(definition, inputs)
    if problems:
        raise ApiInvalid(list(dict.fromkeys(problems)))
    return definition


def _problems_of_the_rest(
    given: JsonValue, known: list[ApiProblem], inputs: JsonObject
) -> list[ApiProblem]:
    """Check the parts that are well shaped, so that everything wrong is told at once."""
    places = [re.split(r"[.[]", problem.path) for problem in known]  # $, definition, part, …
    misshapen = {place[2] for place in places if len(place) > len(("$", "definition"))}
    if not isinstance(given, dict) or "url" in misshapen or "url" not in given:
        return []
    well_shaped = {name: value for name, value in given.items() if name not in misshapen}
    return list(rule_problems(parse(well_shaped), inputs))


def _size_problems(fields: ApiFields) -> list[ApiProblem]:
    sizes = {"definition": fields.definition, "inputSchema": fields.input_schema}
    return [
        ApiProblem(f"$.{name}", f"It has {size:,} bytes; at most {LARGEST_DEFINITION:,} fit.")
        for name, value in sizes.items()
        if (size := size_of(value)) > LARGEST_DEFINITION
    ]


class ApiAuthor:
    """Implements `registry.authoring.ToolAuthor` for tools of type `api`."""

    def create(self, user: User, data: JsonObject) -> Tool:
        """Make an HTTP tool; without an input schema it takes no input."""
        empty: JsonObject = {
            "name": "",
            "description": "",
            "definition": {},
            "inputSchema": dict(NO_INPUT),
            "visibility": Visibility.PRIVATE.value,
            "team": None,
            "requiredScopes": [],
        }
        fields = _fields(user, {**empty, **checked_fields("tool", data)})
        return api_tool_save(new_api_tool(user), author=user, fields=fields)

    def update(self, user: User, tool: Tool, data: JsonObject) -> Tool:
        """Change the named fields of an HTTP tool and publish the next version."""
        require_owner(user, tool)
        fields = _fields(user, {**present_fields(draft_of(tool)), **checked_fields("tool", data)})
        return api_tool_save(tool, author=user, fields=fields)

    def delete(self, user: User, tool: Tool) -> None:
        """Delete an HTTP tool."""
        require_owner(user, tool)
        tool_delete(tool)

    def launch(
        self,
        user: User,
        tool: Tool,
        arguments: JsonValue,
        context: CallContext,
        version: int | None = None,
        wait_seconds: float = 0,
    ) -> None:
        """Say that there is nothing to start: an HTTP tool answers at once."""


def _fields(user: User, data: JsonObject) -> ApiFields:
    return ApiFields(
        name=data["name"],
        description=data["description"],
        definition=data["definition"],
        input_schema=data["inputSchema"],
        visibility=data["visibility"],
        team=team_named(user, data["team"]),
        required_scopes=data["requiredScopes"],
        reason=data.get("reason", ""),
    )
