"""A draft as a program reads and writes it: the fields of a sequence, with its definition."""

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User

from config.lib.jsontext import clean_text
from config.lib.types import JsonObject, JsonValue
from registry.authoring import team_named
from registry.roles import teams_of
from registry.scopes import scopes_in
from sequences.definition import DefinitionInvalid, parse, problem_at
from sequences.forms.definitions import definition_from_draft, schema_from_draft
from sequences.forms.drafts import Draft, Row, StepDraft, pretty
from sequences.forms.saved import draft_from_definition
from sequences.forms.settling import settled
from sequences.forms.step_tools import StepTool, tool_at, tools_in, tools_of
from sequences.ordering import unstorable

TEXTS = ("name", "description", "visibility", "reason")


def fields_of_draft(draft: Draft, *, user: User) -> JsonObject:
    """Return `{name, description, visibility, team, requiredScopes, definition, inputSchema,
    reason}`; the schema is None while what was typed for it is no JSON.
    """
    team = teams_of(user).filter(pk=draft.team).first() if draft.team.isdecimal() else None
    return {
        **{name: getattr(draft, name) for name in TEXTS},
        "team": team.name if team else None,
        "requiredScopes": scopes_in(draft.scopes),
        "definition": definition_from_draft(draft, tools_of(user, draft)),
        "inputSchema": _schema(draft),
    }


def draft_with(draft: Draft, said: Mapping[str, Any], *, user: User) -> Draft:
    """Change the named fields of a draft and return it; what is said as it was read stays as it is.

    So an unfinished definition may be sent back; another one must have the form of a definition.
    Raises DefinitionInvalid with what is wrong with that, and InvalidInput for no team of theirs.
    """
    before = fields_of_draft(draft, user=user)
    changed = {name: value for name, value in said.items() if value != before[name]}
    for name in TEXTS:
        if name in changed:
            setattr(draft, name, clean_text(changed[name]))
    if "team" in changed:
        team = team_named(user, changed["team"])
        draft.team = str(team.pk) if team else ""
    if "requiredScopes" in changed:
        draft.scopes = " ".join(changed["requiredScopes"])
    if "inputSchema" in changed:
        draft.schema = pretty(_storable(changed["inputSchema"]))
    if "definition" in changed:
        _define(draft, changed["definition"], user)
    return settled(draft, tools_of(user, draft))


def _define(draft: Draft, definition: JsonObject, user: User) -> None:
    parse(definition)
    chosen: Mapping[str, StepTool] = tools_in(user, definition)
    fresh = draft_from_definition(definition, chosen)
    folded = {step.key for step in draft.steps if step.collapsed}
    for step in fresh.steps:
        step.collapsed = step.key in folded
        step.rows += _left_out(step, chosen)
    draft.steps, draft.final, draft.max_runs = fresh.steps, fresh.final, fresh.max_runs


def _left_out(step: StepDraft, chosen: Mapping[str, StepTool]) -> list[Row]:
    """Return a row without a source for each input of the tool that the definition leaves out.

    The form would fill in the required ones as it does for a person, who sees them.
    """
    tool = tool_at(chosen, step.tool, step.version)
    given = {row.name for row in step.rows}
    return [Row(name=name) for name in (tool.fields if tool else ()) if name not in given]


def _schema(draft: Draft) -> JsonValue:
    try:
        return schema_from_draft(draft)
    except DefinitionInvalid:
        return None


def _storable(schema: JsonValue) -> JsonValue:
    if broken := list(unstorable(schema)):
        place = ("inputSchema",)
        raise DefinitionInvalid([problem_at(place, problem.message) for problem in broken[:1]])
    return schema
