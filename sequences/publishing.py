"""Publish a draft: check it, ask what it breaks, and write the next version of its tool."""

from collections.abc import Mapping

from django.contrib.auth.models import Group, User
from django.db import transaction

from config.lib.errors import Conflict
from config.lib.numbers import whole_number
from config.lib.types import JsonValue
from registry.impact.agreement import require_agreement
from registry.models import Tool
from registry.review.drafts import draft_of
from registry.roles import teams_of
from registry.scopes import scopes_in
from sequences import services
from sequences.definition import DefinitionInvalid, Problem, parse
from sequences.drafts import draft_published, locked
from sequences.forms.definitions import definition_from_draft, row_problems, schema_from_draft
from sequences.forms.drafts import Draft
from sequences.forms.step_tools import StepTool, tools_of
from sequences.notices import notices
from sequences.opened import Opened
from sequences.selectors import tool_shapes
from sequences.services import SequenceFields


class NewerVersion(Conflict):
    """Another version was published since this draft was begun."""

    code = "newer_version"
    default_hint = "Start again from that version, or say that you keep your own."


def draft_publish(opened: Opened, *, user: User, revision: int, agreed: str) -> Tool:
    """Publish what the draft says as the next version of its tool, or as a new tool.

    Raises DefinitionInvalid with all that is wrong with it, AgreementNeededError when it breaks
    what others use and `agreed` is not the digest of that, NewerVersion where somebody published
    meanwhile, and DraftConflict.
    """
    if opened.newer:
        raise NewerVersion(
            f"Version {opened.newer} was published since you began from version {opened.base}."
        )
    draft = opened.draft
    fields = sequence_fields(user, draft, tools_of(user, draft))
    _require_valid(opened, user, draft, fields, agreed)
    with transaction.atomic():
        row = locked(opened, revision)
        tool = opened.tool or services.new_sequence(user)
        published = services.sequence_update(tool, author=user, reason=draft.reason, **fields)
        if row is None:
            return published
        stored = Tool.objects.get(pk=published.pk)
        draft_published(row, stored, draft_of(stored).version)
    return published


def draft_problems(opened: Opened, user: User, chosen: Mapping[str, StepTool]) -> list[Problem]:
    """Return everything that keeps the draft from being published; empty when nothing does."""
    draft = opened.draft
    told = row_problems(draft)
    try:
        fields = sequence_fields(user, draft, chosen)
    except DefinitionInvalid as error:
        return [*error.problems, *told]
    places = {(problem.step, problem.field) for problem in told}
    tool = opened.tool or services.new_sequence(user)
    others = services.sequence_problems(tool, author=user, **fields)
    return [*told, *(each for each in others if (each.step, each.field) not in places)]


def draft_notices(draft: Draft, user: User, chosen: Mapping[str, StepTool]) -> list[Problem]:
    """Return what is worth a look and may be meant so; nothing while the draft cannot be read."""
    try:
        schema = schema_from_draft(draft)
        definition = parse(definition_from_draft(draft, chosen))
    except DefinitionInvalid:
        return []
    if not isinstance(schema, dict):
        return []
    shapes = tool_shapes(user, definition)
    return list(notices(definition, tools=shapes, input_schema=schema))


def sequence_fields(user: User, draft: Draft, chosen: Mapping[str, StepTool]) -> SequenceFields:
    """Return what the services take; raise DefinitionInvalid where the input schema is no JSON."""
    schema: JsonValue = schema_from_draft(draft)
    return {
        "name": draft.name,
        "description": draft.description,
        "definition": definition_from_draft(draft, chosen),
        "input_schema": schema,
        "visibility": draft.visibility,
        "team": _team(user, draft.team),
        "required_scopes": scopes_in(draft.scopes),
    }


def _require_valid(
    opened: Opened, user: User, draft: Draft, fields: SequenceFields, agreed: str
) -> None:
    if problems := draft_problems(opened, user, tools_of(user, draft)):
        raise DefinitionInvalid(problems)
    tool = opened.tool or services.new_sequence(user)
    impact = services.sequence_impact(
        tool, author=user, definition=fields["definition"], input_schema=fields["input_schema"]
    )
    require_agreement(impact, agreed)


def _team(user: User, team_id: str) -> Group | None:
    return teams_of(user).filter(pk=whole_number(team_id) or 0).first()
