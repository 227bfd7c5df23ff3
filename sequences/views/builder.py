"""Show a draft: the whole page, its form alone, or only what a save has changed of it."""

from collections.abc import Collection, Iterable
from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from config.lib.htmx import render_page, wants_fragment
from config.lib.http import SignedInRequest
from config.lib.types import JsonObject
from registry.impact.parts import Impact
from registry.models.tool import Visibility
from registry.roles import teams_of
from registry.scopes import scopes_in
from sequences.definition import Problem
from sequences.drafts import DraftConflict
from sequences.forms.cards import LOOP_SOURCES, SOURCES
from sequences.forms.changes import MOST_TOLD, changes_between
from sequences.forms.definitions import definition_from_draft
from sequences.forms.drafts import Draft, draft_from_json
from sequences.forms.step_cards import Builder, builder_of
from sequences.forms.step_tools import tools_lost, tools_of, tools_offered
from sequences.opened import Opened, history_of, published_draft
from sequences.picture import flow_picture
from sequences.publishing import draft_notices, draft_problems
from sequences.repairing import draft_repairs
from sequences.safety import safety_of


def draft_shown(
    request: SignedInRequest,
    opened: Opened,
    *,
    problems: Iterable[Problem] | None = None,
    focus: str = "",
    impact: Impact | None = None,
) -> HttpResponse:
    """Show the form with a draft; `problems` are what kept it from being published."""
    refused = problems is not None or impact is not None
    context = _context(request, opened, problems, strict=refused or _is_strict(request))
    context |= {"focus": focus, "impact": impact, "refused": refused}
    context["beside"] = wants_fragment(request)  # the form alone: the picture stands outside it
    if not wants_fragment(request):
        besides = opened.tool.pk if opened.tool else None
        context["offered"] = tools_offered(request.user, besides)
    return render_page(
        request,
        "sequences/builder.html",
        context,
        fragment="sequences/_builder.html",
        status=422 if refused else 200,
    )


def saved_shown(request: SignedInRequest, opened: Opened) -> HttpResponse:
    """Answer a save: a page that listens gets only what is not a field, so typing goes on."""
    if not wants_fragment(request):
        return redirect(address_of(opened))
    context = _context(request, opened, None, strict=_is_strict(request))
    return render(request, "sequences/_saved.html", {**context, "oob": True})


def conflict_shown(
    request: SignedInRequest, opened: Opened, conflict: DraftConflict, mine: Draft
) -> HttpResponse:
    """Show what somebody else changed meanwhile, with the choice; nothing is saved yet."""
    row = conflict.row or opened.row
    theirs = draft_from_json(row.document) if row else opened.draft
    conflicting = {
        "row": row,
        "revision": row.revision if row else 0,
        "by_me": row is not None and row.updated_by_id == request.user.pk,
        "changes": changes_between(theirs, mine)[:MOST_TOLD],
    }
    if wants_fragment(request):
        alone = {"conflict": conflicting}
        return render(request, "sequences/_conflict.html", alone, status=409)
    context = _context(request, opened.showing(mine), None, strict=False)
    context |= {
        "conflict": conflicting,
        "begun_from": request.POST.get("revision", ""),
        "offered": tools_offered(request.user, opened.tool.pk if opened.tool else None),
    }
    return render(request, "sequences/builder.html", context, status=409)


def address_of(opened: Opened) -> str:
    """Return the address at which a draft is edited."""
    if opened.tool is not None:
        return reverse("sequences:sequence_edit", args=[opened.tool.pk])
    return reverse("sequences:draft_edit", args=[opened.row.pk if opened.row else ""])


def _context(
    request: SignedInRequest,
    opened: Opened,
    problems: Iterable[Problem] | None,
    *,
    strict: bool,
) -> dict[str, Any]:
    draft, user = opened.draft, request.user
    chosen = tools_of(user, draft)
    if problems is None:
        problems = draft_problems(opened, user, chosen)
    builder: Builder = builder_of(draft, chosen, problems, strict=strict)
    marks = {
        card.number: "off" if card.step.disabled else "invalid"
        for card in builder.steps
        if card.step.disabled or card.has_errors
    }
    names = {tool.id: tool.title for tool in chosen.values()}
    published = published_draft(opened)
    changes = changes_between(published, draft) if published else []
    definition = definition_from_draft(draft, chosen)
    return {
        "opened": opened,
        "tool": opened.tool,
        "edited": opened.edited,
        "builder": builder,
        "history": history_of(opened.row),
        "address": address_of(opened),
        "asks": address_of(opened).removesuffix("edit"),
        "changes": changes[:MOST_TOLD],
        "more_changes": max(len(changes) - MOST_TOLD, 0),
        "strict": strict,
        "picture": flow_picture(definition, names, marks),
        "safety": safety_of(_usable(definition, names), scopes_in(draft.scopes)),
        "notices": [_notice(builder, problem) for problem in draft_notices(draft, user, chosen)],
        "sources": SOURCES,
        "loop_sources": LOOP_SOURCES,
        "visibilities": Visibility.choices,
        "teams": teams_of(user),
        "repairs": draft_repairs(user, draft),
        "lost": tools_lost(user, [step.tool for step in draft.steps], chosen),
    }


def _usable(definition: JsonObject, names: Collection[str]) -> JsonObject:
    """Leave out the steps whose tool the person may not use: nothing of those is told."""
    steps = [step for step in definition["steps"] if step.get("toolToRunId") in names]
    return {**definition, "steps": steps}


def _notice(builder: Builder, problem: Problem) -> dict[str, str]:
    """Return what is worth a look, with the card at which it can be mended."""
    number = problem.step or 0
    if not 0 < number <= len(builder.steps):
        return {"message": problem.message}
    card = builder.steps[number - 1]
    return {"message": problem.message, "anchor": card.anchor, "name": f"{number}. {card.name}"}


def _is_strict(request: SignedInRequest) -> bool:
    """Tell whether it was tried to publish this: then what is missing is told as a problem."""
    return request.POST.get("strict", "") == "1"
