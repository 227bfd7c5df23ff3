"""Every change that a person makes to sequences and their runs."""

from collections.abc import Collection
from typing import TypedDict

from django.contrib.auth.models import Group, User

from config.lib.jsontext import clean_text
from config.lib.types import JsonValue
from registry.authoring import field_problems, owner_scope_problems
from registry.impact.agreement import edit_impact
from registry.impact.parts import Impact
from registry.models import Tool
from registry.models.tool import ToolKind, Visibility
from registry.review.drafts import tool_write
from registry.schemas import check_schema
from registry.services import tool_delete
from sequences.definition import DefinitionInvalid, Problem, parse, to_json
from sequences.flow import breaks, flow_problems
from sequences.nesting import nesting_problems
from sequences.selectors import tool_shapes
from sequences.validation import validate

SEQUENCE_SECONDS = 300
"""How long a caller waits for a sequence; a run that nobody waits for may take longer."""


class SequenceFields(TypedDict):
    """What a person says of a sequence; `definition` and `input_schema` are unchecked JSON."""

    name: str
    description: str
    definition: JsonValue
    input_schema: JsonValue
    visibility: str
    team: Group | None
    required_scopes: Collection[str]


def new_sequence(owner: User) -> Tool:
    """Return the row of a sequence that is not saved yet."""
    return Tool(kind=ToolKind.SEQUENCE, owner=owner, timeout_seconds=SEQUENCE_SECONDS)


def sequence_create(
    owner: User,
    *,
    name: str,
    description: str,
    definition: JsonValue,
    input_schema: JsonValue,
    visibility: str = Visibility.PRIVATE,
    team: Group | None = None,
    required_scopes: Collection[str] = (),
    reason: str = "",
) -> Tool:
    """Make a sequence and publish its first version.

    Raises DefinitionInvalid with everything that is wrong, each problem with its field.
    """
    return sequence_update(
        new_sequence(owner),
        author=owner,
        name=name,
        description=description,
        definition=definition,
        input_schema=input_schema,
        visibility=visibility,
        team=team,
        required_scopes=required_scopes,
        reason=reason,
    )


def sequence_update(
    tool: Tool,
    *,
    author: User,
    name: str,
    description: str,
    definition: JsonValue,
    input_schema: JsonValue,
    visibility: str,
    team: Group | None = None,
    required_scopes: Collection[str] | None = None,
    reason: str = "",
) -> Tool:
    """Change a sequence and publish the next version where that changed what it does.

    A change of a sequence that everybody uses waits for review beside what is live; returns it as
    it is for its owner (`registry.review.drafts`). Scopes of None stay as they are. Raises
    DefinitionInvalid.
    """
    fields: SequenceFields = {
        "name": clean_text(name).strip(),
        "description": clean_text(description).strip(),
        "definition": definition,
        "input_schema": input_schema,
        "visibility": visibility,
        "team": team,
        "required_scopes": tool.required_scopes if required_scopes is None else required_scopes,
    }
    if problems := sequence_problems(tool, author=author, **fields):
        raise DefinitionInvalid(problems)
    return tool_write(
        tool,
        author=author,
        name=fields["name"],
        description=fields["description"],
        definition=to_json(parse(definition)),
        input_schema=input_schema if isinstance(input_schema, dict) else {},
        visibility=visibility,
        team=team,
        required_scopes=fields["required_scopes"],
        reason=reason,
    )


def sequence_problems(
    tool: Tool,
    *,
    author: User,
    name: str,
    description: str,
    definition: JsonValue,
    input_schema: JsonValue,
    visibility: str,
    team: Group | None,
    required_scopes: Collection[str],
) -> list[Problem]:
    """Return everything that keeps a sequence from being saved; empty when nothing does."""
    problems = [
        Problem(f"$.{field}", None, field, message)
        for field, message in field_problems(
            "sequence",
            author=author,
            name=name,
            description=description,
            visibility=visibility,
            team=team,
        )
    ]
    problems += [
        Problem("$.requiredScopes", None, "requiredScopes", message)
        for message in owner_scope_problems(tool, author, required_scopes)
    ]
    try:
        parsed = parse(definition)
    except DefinitionInvalid as error:
        return [*problems, *error.problems]
    schema = input_schema if isinstance(input_schema, dict) else {}
    tools = tool_shapes(author, parsed)
    told = validate(parsed, tools=tools, input_schema=schema, self_id=str(tool.pk))
    if not any(problem.field == "inputSchema" for problem in told):
        paths = {problem.path for problem in told}
        flow = flow_problems(parsed, tools=tools, input_schema=schema)
        told += [found for found in flow if breaks(found) and found.path not in paths]
    return [*problems, *told, *nesting_problems(parsed, tool.pk)]


def sequence_impact(
    tool: Tool, *, author: User, definition: JsonValue, input_schema: JsonValue
) -> Impact | None:
    """Return what these changes would do to whatever uses the sequence.

    None for a new one, and for a definition that cannot be read: saving tells what is wrong.
    """
    try:
        changes = {"definition": to_json(parse(definition)), "input_schema": input_schema}
    except DefinitionInvalid:
        return None
    if check_schema(input_schema):
        return None
    return edit_impact(tool, changes, user=author)


def sequence_delete(tool: Tool) -> None:
    """Delete a sequence; its runs stay, and a sequence that calls it says so when it runs."""
    tool_delete(tool)
