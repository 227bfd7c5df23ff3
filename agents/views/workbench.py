"""The search workbench: try a message, move weights, put them in force for everybody."""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from agents.score_bars import Picture, legend, picture_of
from agents.weight_effect import Effect, effect_of
from agents.workbench import Place, Tried, tried
from agents.workbench_forms import SaveForm, WeightsForm, WorkbenchForm, hidden
from config.lib.errors import Conflict, DomainError, InvalidInput, NotAllowed
from config.lib.htmx import render_page
from config.lib.http import SignedInRequest
from registry.errors import SearchTimeout
from registry.search.in_force import (
    Change,
    Decided,
    changes_between,
    weights_history,
    weights_now,
    weights_version,
)
from registry.search.weights import BOUNDS, Bound, Weights
from registry.weighing import PERMISSION, weights_restore, weights_save


@login_required
@require_http_methods(["GET", "POST"])
def workbench(request: SignedInRequest) -> HttpResponse:
    """Show what a message finds and why; a message is sent by POST, or linked to by GET."""
    given = request.POST if request.method == "POST" else request.GET
    form = WorkbenchForm(given or None, user=request.user, in_force=weights_now())
    outcome: Tried | None = None
    problem: DomainError | None = None
    if form.is_bound and form.is_valid() and form.asked.message:
        try:
            outcome = tried(request.user, form.asked)
        except SearchTimeout as error:
            problem = error
    context = {
        "form": form,
        "tried": outcome,
        "rows": [(place, _picture(place)) for place in outcome.found] if outcome else [],
        "changes": _told(outcome.changes) if outcome else [],
        "why": outcome.why if outcome else None,
        "problem": problem,
        "legend": legend(),
        "may_label": outcome is not None and _owns(request, outcome),
        "governs": request.user.has_perm(PERMISSION),
        "hidden": hidden(form.values) if outcome and outcome.changes else {},
    }
    return render_page(
        request,
        "agents/search/workbench.html",
        context,
        fragment="agents/search/_outcome.html",
        status=422 if form.is_bound and not form.is_valid() else 200,
    )


@login_required
@require_GET
def weights_list(request: SignedInRequest) -> HttpResponse:
    """Show what was decided of the weights, each decision beside the one before it."""
    history = weights_history()
    rows = [
        (decided, _told(changes_between(before.weights, decided.weights)))
        for decided, before in pairwise(history)
    ]
    context = {
        "rows": rows,
        "newest": history[0].version,
        "bounds": _listed(history[0].weights),
        "governs": request.user.has_perm(PERMISSION),
    }
    return render(request, "agents/search/weights.html", context)


@login_required
@require_POST
def weights_save_view(request: SignedInRequest) -> HttpResponse:
    """Show what would change for everybody, ask for the reason, and put it in force."""
    _require_governor(request)
    now = weights_now()
    weights = WeightsForm(request.POST, in_force=now)
    if not weights.is_valid():
        problems = [{"path": name, "message": text} for name, (text, *_) in weights.errors.items()]
        raise InvalidInput(
            "These are no weights.", "Go back and correct the marked ones.", problems=problems
        )
    form = SaveForm(request.POST if "reason" in request.POST else None, based_on=now.version)
    if form.is_bound and form.is_valid():
        data = form.cleaned_data
        try:
            saved = weights_save(
                request.user, weights.values, data["reason"], based_on=data["based_on"]
            )
        except (InvalidInput, Conflict) as error:
            form.refuse(error)
            now = weights_now()
        else:
            messages.success(request, f"Version {saved.version} is in force, for everybody.")
            return redirect("search:weights")
    return _decision(request, form, now, weights.weights, {"hidden": hidden(weights.values)})


@login_required
@require_http_methods(["GET", "POST"])
def weights_restore_view(request: SignedInRequest, version: int) -> HttpResponse:
    """Ask for the reason, and put an earlier version in force again."""
    _require_governor(request)
    now, earlier = weights_now(), weights_version(version)
    form = SaveForm(request.POST or None, based_on=now.version)
    if form.is_bound and form.is_valid():
        data = form.cleaned_data
        try:
            restored = weights_restore(
                request.user, version, data["reason"], based_on=data["based_on"]
            )
        except (InvalidInput, Conflict) as error:
            form.refuse(error)
            now = weights_now()
        else:
            messages.success(request, f"Version {restored.version} is in force, for everybody.")
            return redirect("search:weights")
    return _decision(request, form, now, earlier.weights, {"restored": earlier})


def _decision(
    request: SignedInRequest,
    form: SaveForm,
    now: Decided,
    weights: Weights,
    context: dict[str, Any],
) -> HttpResponse:
    """Ask for the reason, beside what changes and what that does to the labelled queries."""
    changes = changes_between(now.weights, weights)
    effect: Effect | None = None
    problem: DomainError | None = None
    try:
        effect = effect_of(weights, request.user) if changes else None
    except SearchTimeout as error:
        problem = error
    context |= {"form": form, "changes": _told(changes), "effect": effect, "problem": problem}
    status = 422 if form.is_bound else 200
    return render(request, "agents/search/weights_save.html", context, status=status)


def _require_governor(request: SignedInRequest) -> None:
    if not request.user.has_perm(PERMISSION):
        raise NotAllowed("Only a governor may do this.", "Ask a governor.")


def _owns(request: SignedInRequest, outcome: Tried) -> bool:
    agent = outcome.asked.agent
    return agent is not None and agent.owner_id == request.user.pk


def _picture(place: Place) -> Picture | None:
    explanation = place.hit.explanation
    return picture_of(explanation) if explanation else None


def _told(changes: Iterable[Change]) -> list[Mapping[str, Any]]:
    """Return changes with the words for each weight and its place between its bounds."""
    return [
        {
            "label": BOUNDS[change.name].label,
            "before": f"{change.before:g}",
            "after": f"{change.after:g}",
            "icon": "up" if change.after > change.before else "down",
            "way": "more" if change.after > change.before else "less",
        }
        for change in changes
    ]


def _listed(weights: Weights) -> list[tuple[str, list[tuple[Bound, float]]]]:
    groups: dict[str, list[tuple[Bound, float]]] = {}
    for name, value in weights.as_dict().items():
        bound = BOUNDS[name]
        groups.setdefault(bound.group, []).append((bound, value))
    return list(groups.items())
