"""The page on which a sequence is put together."""

import json
from collections.abc import Iterable, Mapping
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import Group, User
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods
from django_htmx.http import HttpResponseClientRedirect

from config.lib.errors import Conflict, InvalidInput
from config.lib.htmx import render_page, wants_fragment
from config.lib.http import SignedInRequest
from config.lib.numbers import whole_number
from registry.impact.agreement import FIELD, AgreementNeededError, require_agreement
from registry.impact.parts import Impact
from registry.models import Tool
from registry.models.tool import Visibility
from registry.review.drafts import draft_of, saved_words
from registry.roles import teams_of
from registry.scopes import scopes_in
from sequences import selectors, services
from sequences.definition import DefinitionInvalid, Problem
from sequences.forms.actions import Focus, act
from sequences.forms.cards import SOURCES, builder_of
from sequences.forms.definitions import (
    definition_from_draft,
    row_problems,
    schema_from_draft,
)
from sequences.forms.drafts import Draft, new_draft
from sequences.forms.posted import draft_from_post
from sequences.forms.saved import draft_from_tool
from sequences.forms.step_tools import StepTool, tools_chosen, tools_lost, tools_offered
from sequences.services import SequenceFields

SAVE, SAVE_AND_RUN = "save", "save-run"


@login_required
@require_http_methods(["GET", "POST"])
def sequence_create(request: SignedInRequest) -> HttpResponse:
    """Show the builder with a new sequence, and save it."""
    return _answered(request, None)


@login_required
@require_http_methods(["GET", "POST"])
def sequence_edit(request: SignedInRequest, tool_id: UUID) -> HttpResponse:
    """Show the builder with one of a person's own sequences, and save it."""
    return _answered(request, selectors.sequence_owned_by(request.user, tool_id))


def _answered(request: SignedInRequest, tool: Tool | None) -> HttpResponse:
    if request.method == "GET":
        return _shown(request, tool, _stored(request.user, tool))
    draft = draft_from_post(request.POST.dict())
    action = request.POST.get("action", SAVE)
    if action not in (SAVE, SAVE_AND_RUN):
        return _shown(request, tool, draft, focus=act(draft, action))
    try:
        saved = _saved(request.user, tool, draft, request.POST.get(FIELD, ""))
    except DefinitionInvalid as error:
        return _shown(request, tool, draft, problems=error.problems)
    except AgreementNeededError as error:
        return _shown(request, tool, draft, impact=error.impact)
    except InvalidInput as error:
        problem = Problem("$.reason", None, "reason", f"{error.message} {error.hint}")
        return _shown(request, tool, draft, problems=[problem])
    except Conflict as error:
        problem = Problem("$.name", None, "name", f"{error.message} {error.hint}")
        return _shown(request, tool, draft, problems=[problem])
    messages.success(request, saved_words(saved))
    page = "sequences:run_start" if action == SAVE_AND_RUN else "sequences:sequence_edit"
    url = reverse(page, args=[saved.pk])
    if action == SAVE_AND_RUN and saved.live_version:
        url += f"?version={saved.version}"
    return HttpResponseClientRedirect(url) if wants_fragment(request) else redirect(url)


def _stored(user: User, tool: Tool | None) -> Draft:
    if tool is None:
        return new_draft()
    tool = draft_of(tool)
    steps = (tool.definition or {}).get("steps", ())
    pins = [(step.get("toolToRunId") or "", str(step.get("toolVersion") or "")) for step in steps]
    return draft_from_tool(tool, tools_chosen(user, pins))


def _saved(user: User, tool: Tool | None, draft: Draft, agreed: str) -> Tool:
    """Save what the form holds.

    Raises DefinitionInvalid with all that is wrong with it, and AgreementNeededError when it
    breaks what others use and `agreed` is not the digest of that.
    """
    fields: SequenceFields = {
        "name": draft.name,
        "description": draft.description,
        "definition": definition_from_draft(draft, _chosen(user, draft)),
        "input_schema": schema_from_draft(draft),
        "visibility": draft.visibility,
        "team": _team(user, draft.team),
        "required_scopes": scopes_in(draft.scopes),
    }
    tool = tool or services.new_sequence(user)
    if problems := row_problems(draft):
        told = {(problem.step, problem.field) for problem in problems}
        others = services.sequence_problems(tool, author=user, **fields)
        further = [problem for problem in others if (problem.step, problem.field) not in told]
        raise DefinitionInvalid([*problems, *further])
    impact = services.sequence_impact(
        tool, author=user, definition=fields["definition"], input_schema=fields["input_schema"]
    )
    if impact is not None and impact.breaks:
        if problems := services.sequence_problems(tool, author=user, **fields):
            raise DefinitionInvalid(problems)
        require_agreement(impact, agreed)
    return services.sequence_update(tool, author=user, reason=draft.reason, **fields)


def _team(user: User, team_id: str) -> Group | None:
    return teams_of(user).filter(pk=whole_number(team_id) or 0).first()


def _chosen(user: User, draft: Draft) -> Mapping[str, StepTool]:
    return tools_chosen(user, [(step.tool, step.version) for step in draft.steps])


def _inputs(draft: Draft) -> list[str]:
    """Return the names of the sequence's inputs, as far as its schema can be read yet."""
    try:
        schema = json.loads(draft.schema)
        return [str(name) for name in schema["properties"]]
    except (ValueError, LookupError, TypeError, RecursionError):
        return []


def _shown(
    request: SignedInRequest,
    tool: Tool | None,
    draft: Draft,
    *,
    problems: Iterable[Problem] = (),
    focus: Focus | None = None,
    impact: Impact | None = None,
) -> HttpResponse:
    chosen = _chosen(request.user, draft)
    builder = builder_of(draft, chosen, _inputs(draft), problems)
    context = {
        "tool": tool,
        "edited": draft_of(tool) if tool else None,
        "builder": builder,
        "sources": SOURCES,
        "visibilities": Visibility.choices,
        "teams": teams_of(request.user),
        "focus": focus.field if focus else "",
        "impact": impact,
        "lost": tools_lost(request.user, [step.tool for step in draft.steps], chosen),
        "offered": ()
        if wants_fragment(request)
        else tools_offered(request.user, tool.pk if tool else None),
    }
    return render_page(
        request,
        "sequences/builder.html",
        context,
        fragment="sequences/_builder.html",
        status=422 if builder.problem_count or impact else 200,
    )
