"""Every change that a person makes to sequences and their runs."""

from collections.abc import Iterable
from typing import TypedDict

from django.contrib.auth.models import Group, User
from django.db import IntegrityError, transaction

from config.lib.errors import Conflict
from config.lib.jsontext import clean_text, storable
from config.lib.types import JsonValue
from registry.models import Tool
from registry.models.package import ReviewStatus
from registry.models.tool import ToolKind, Visibility
from registry.schemas import canonical_digest
from registry.services import free_wire_name, tool_delete, tool_publish
from registry.specs import snapshot_of
from sequences.definition import DefinitionInvalid, Problem, parse, to_json
from sequences.nesting import nesting_problems
from sequences.selectors import tool_shapes
from sequences.validation import validate

LONGEST_NAME = 120
LONGEST_DESCRIPTION = 4_000
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
) -> Tool:
    """Change a sequence and publish the next version where that changed what it does.

    A public sequence waits for review after every such change, because what was approved is no
    longer what it does; one in quarantine stays there. Raises DefinitionInvalid.
    """
    fields: SequenceFields = {
        "name": clean_text(name).strip(),
        "description": clean_text(description).strip(),
        "definition": definition,
        "input_schema": input_schema,
        "visibility": visibility,
        "team": team,
    }
    if problems := sequence_problems(tool, author=author, **fields):
        raise DefinitionInvalid(problems)
    before = canonical_digest(snapshot_of(tool))
    if tool.title != fields["name"]:
        tool.wire_name = free_wire_name(None, fields["name"], tool_id=tool.pk)
    tool.title, tool.description = fields["name"], fields["description"]
    tool.definition, tool.input_schema = to_json(parse(definition)), storable(input_schema)
    became_public = visibility == Visibility.PUBLIC and tool.visibility != Visibility.PUBLIC
    tool.visibility, tool.team = visibility, team if visibility == Visibility.TEAM else None
    changed = canonical_digest(snapshot_of(tool)) != before
    if (changed or became_public) and tool.review_status != ReviewStatus.QUARANTINED:
        tool.review_status = ReviewStatus.CANDIDATE
    try:
        with transaction.atomic():
            tool_publish(tool, author=author)
    except IntegrityError:
        raise Conflict(
            f"Somebody has just taken the name {tool.wire_name}.", "Save again."
        ) from None
    return tool


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
) -> list[Problem]:
    """Return everything that keeps a sequence from being saved; empty when nothing does."""
    problems = [
        *_text_problems(name, description),
        *_sharing_problems(author, visibility, team),
    ]
    try:
        parsed = parse(definition)
    except DefinitionInvalid as error:
        return [*problems, *error.problems]
    return [
        *problems,
        *validate(
            parsed,
            tools=tool_shapes(author, parsed),
            input_schema=input_schema if isinstance(input_schema, dict) else {},
            self_id=str(tool.pk),
        ),
        *nesting_problems(parsed, tool.pk),
    ]


def sequence_delete(tool: Tool) -> None:
    """Delete a sequence; its runs stay, and a sequence that calls it says so when it runs."""
    tool_delete(tool)


def _text_problems(name: str, description: str) -> Iterable[Problem]:
    if not name:
        yield Problem("$.name", None, "name", "Give the sequence a name.")
    elif len(name) > LONGEST_NAME:
        message = f"The name has {len(name)} characters; at most {LONGEST_NAME} fit."
        yield Problem("$.name", None, "name", message)
    if not description:
        message = "Say what the sequence does: a model chooses its tools by this."
        yield Problem("$.description", None, "description", message)
    elif len(description) > LONGEST_DESCRIPTION:
        message = f"It has {len(description)} characters; at most {LONGEST_DESCRIPTION} fit."
        yield Problem("$.description", None, "description", message)


def _sharing_problems(author: User, visibility: str, team: Group | None) -> Iterable[Problem]:
    if visibility not in Visibility.values:
        message = f"Choose one of {', '.join(Visibility.values)}."
        yield Problem("$.visibility", None, "visibility", message)
    elif visibility == Visibility.TEAM and (
        team is None or not author.groups.filter(pk=team.pk).exists()
    ):
        message = "Choose one of your own teams, or keep the sequence to yourself."
        yield Problem("$.team", None, "team", message)
