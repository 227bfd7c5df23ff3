"""Draw up, start, end and delete experiments; their results are pages of `chat`."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from agents import experiments, selectors
from agents.choosing import is_search, search_of
from agents.experiment_forms import ExperimentForm
from agents.models import Agent
from config.lib.errors import InvalidInput
from config.lib.form_errors import show_refusal
from config.lib.http import SignedInRequest


@login_required
@require_safe
def experiment_list(request: SignedInRequest, slug: str) -> HttpResponse:
    """List the experiments with an agent."""
    agent = selectors.agent_visible_to(request.user, slug)
    context = {
        "agent": agent,
        "owned": agent.owner_id == request.user.pk,
        "experiments": experiments.experiments_of(agent),
    }
    return render(request, "agents/experiments/list.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def experiment_create(request: SignedInRequest, slug: str) -> HttpResponse:
    """Draw up an experiment: what the agent carries now against another toolset."""
    agent = selectors.agent_owned_by(request.user, slug)
    form = ExperimentForm(request.POST or None, agent=agent, unsent=is_search(request))
    if form.is_valid():
        try:
            made = experiments.experiment_create(agent, by=request.user, **form.plan())
        except InvalidInput as error:
            show_refusal(form, error)
        else:
            return redirect("experiments:detail", slug, made.pk)
    return _form(request, agent, form)


@login_required
@require_POST
def experiment_start(request: SignedInRequest, slug: str, experiment_id: UUID) -> HttpResponse:
    """Start an experiment."""
    experiment = experiments.experiment_owned_by(request.user, slug, experiment_id)
    experiments.experiment_start(experiment, by=request.user)
    messages.success(request, "It runs. New conversations get one of the two toolsets.")
    return redirect("experiments:detail", slug, experiment_id)


@login_required
@require_POST
def experiment_end(request: SignedInRequest, slug: str, experiment_id: UUID) -> HttpResponse:
    """End an experiment."""
    experiment = experiments.experiment_owned_by(request.user, slug, experiment_id)
    experiments.experiment_end(experiment, by=request.user)
    messages.success(request, "It has ended. The agent uses its own tools again.")
    return redirect("experiments:detail", slug, experiment_id)


@login_required
@require_POST
def experiment_delete(request: SignedInRequest, slug: str, experiment_id: UUID) -> HttpResponse:
    """Delete an experiment that does not run."""
    experiment = experiments.experiment_owned_by(request.user, slug, experiment_id)
    experiments.experiment_delete(experiment, by=request.user)
    messages.success(request, f"“{experiment.name}” is deleted; its conversations stay.")
    return redirect("agents:experiment_list", slug)


def _form(request: SignedInRequest, agent: Agent, form: ExperimentForm) -> HttpResponse:
    words, kept = search_of(request)
    context: dict[str, Any] = {
        "agent": agent,
        "form": form,
        "choices": selectors.tool_choices(agent, words, form.chosen() if kept is None else kept),
        "present": experiments.present_toolset(agent),
        "links": selectors.links_of(agent),
    }
    status = 400 if form.errors else 200
    return render(request, "agents/experiments/form.html", context, status=status)
