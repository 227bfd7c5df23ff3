"""Put the page of a run together."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User

from config.lib.errors import DomainError
from config.lib.types import JsonObject
from sequences.asked import requests_open, runs_within, steps_in_doubt
from sequences.following import state_of
from sequences.models import Run, RunArtifact, RunRequest, RunStep
from sequences.models.run import RunStatus
from sequences.selectors import run_of
from sequences.views.display import RunField, run_fields
from sequences.views.timeline import timeline_of
from sequences.views.values import shown

VALUE = "value-"
"""What the names of a question's fields begin with in the form that answers it."""


@dataclass(frozen=True)
class Refused:
    """An answer that was not taken: to what, what was sent, and why."""

    about: RunRequest | RunStep
    sent: dict[str, str]
    error: DomainError


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question and the fields of the form that answers it."""

    request: RunRequest
    fields: list[RunField]
    note: str
    error: DomainError | None


@dataclass(frozen=True, kw_only=True)
class Doubt:
    """A step in doubt, and what was said of it that was not taken."""

    step: RunStep
    output: str
    error: DomainError | None


def run_context(user: User, run_id: UUID, refused: Refused | None = None) -> JsonObject:
    """Return what the page of a person's run shows, or raise NotFound.

    An answer that was refused stands beside its form. `digest` is how the run stood before it was
    read: whatever changes from then on is told to the page.
    """
    state = state_of(run_id)
    run = run_of(user, run_id)
    runs = [] if run.is_finished else runs_within(run)
    questions = [_question(request, refused) for request in requests_open(runs)]
    doubts = [_doubt(step, refused) for step in steps_in_doubt(runs)]
    context: dict[str, Any] = {
        "run": run,
        "digest": state.digest if state else "",
        "timeline": timeline_of(run),
        "input": shown(run.input),
        "output": shown(run.output) if run.status == RunStatus.SUCCEEDED else None,
        "questions": questions,
        "doubts": doubts,
        "artifacts": RunArtifact.objects.filter(run=run)
        .select_related("step")
        .defer("content")
        .order_by("name", "version"),
        "before": _before(run),
        "refused": refused if refused and not _is_asked(refused, questions, doubts) else None,
    }
    return context


def _is_asked(refused: Refused, questions: list[Question], doubts: list[Doubt]) -> bool:
    """Tell whether the page still has the form beside which the refusal belongs."""
    return any(question.request == refused.about for question in questions) or any(
        doubt.step == refused.about for doubt in doubts
    )


def _question(request: RunRequest, refused: Refused | None) -> Question:
    this = refused if refused and refused.about == request else None
    sent = None
    if this:
        sent = {
            name.removeprefix(VALUE): text
            for name, text in this.sent.items()
            if name.startswith(VALUE)
        }
    fields = run_fields(
        request.input_schema or {}, sent, this.error if this else None, prefix=VALUE
    )
    return Question(
        request=request,
        fields=fields,
        note=this.sent.get("note", "") if this else "",
        error=this.error if this else None,
    )


def _doubt(step: RunStep, refused: Refused | None) -> Doubt:
    this = refused if refused and refused.about == step else None
    return Doubt(
        step=step,
        output=this.sent.get("output", "") if this else "",
        error=this.error if this else None,
    )


def _before(run: Run) -> Run | None:
    """Return the run that this one retries, or the person's run of the same sequence before it."""
    if run.retry_of_id:
        return Run.objects.filter(pk=run.retry_of_id, user=run.user_id).only("pk").first()
    if run.tool_id is None or run.parent_step_id is not None:
        return None
    earlier = Run.objects.filter(
        tool=run.tool_id, user=run.user_id, parent_step=None, created_at__lt=run.created_at
    )
    return earlier.only("pk").order_by("-created_at", "pk").first()
