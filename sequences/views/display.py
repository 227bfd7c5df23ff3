"""Prepare what the templates of runs show."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from config.lib.types import JsonSchema, JsonValue
from registry.errors import ToolError
from registry.media import Media, media_in, without_media
from registry.schema_forms import FormField, form_fields
from sequences.models import Run, RunStep
from sequences.models.run_step import StepStatus

LONGEST_SHOWN = 20_000
"""Characters of JSON that a page shows of one value; the REST API has all of it."""


@dataclass(frozen=True, kw_only=True)
class StepLine:
    """One step of a run's timeline."""

    step: RunStep
    input: str
    output: str
    media: list[Media]
    can_retry: bool
    children: tuple[Run, ...]

    @property
    def mark(self) -> str:
        """Return the class that colours the step's mark."""
        return "succeeded" if self.step.status == StepStatus.REUSED else self.step.status


@dataclass(frozen=True, kw_only=True)
class RunField:
    """One field of the form that starts a run, with what it holds."""

    field: FormField
    value: str
    choices: tuple[str, ...]
    error: str

    @property
    def id(self) -> str:
        """Return the field's id in the page."""
        return f"run-{self.field.name}"


def pretty(value: JsonValue) -> str:
    """Return a value as indented JSON, cut where it is very long."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}\n…"


def run_steps(run: Run) -> list[StepLine]:
    """Return the steps of a run in their order, with the runs of the sequences they called."""
    steps = run.steps.select_related("tool").prefetch_related("child_runs")
    return [
        StepLine(
            step=step,
            input=pretty(step.input) if step.input is not None else "",
            output=pretty(without_media(step.output)),
            media=media_in(step.output),
            can_retry=run.is_finished,
            children=tuple(step.child_runs.all()),
        )
        for step in steps.order_by("number", "pk")
    ]


def run_fields(
    schema: JsonSchema, sent: Mapping[str, str] | None, error: ToolError | None
) -> list[RunField]:
    """Return a field for each input, holding what was sent or else its default."""
    errors = _errors_by_field(error)
    return [
        RunField(
            field=field,
            value=_text(field.default) if sent is None else sent.get(field.name, ""),
            choices=tuple(_text(choice) for choice in field.enum),
            error=errors.get(field.name, ""),
        )
        for field in form_fields(schema)
    ]


def _errors_by_field(error: ToolError | None) -> dict[str, str]:
    told: dict[str, str] = {}
    for problem in error.extra.get("problems", ()) if error else ():
        name = problem["path"].removeprefix("$.").split(".")[0].split("[")[0]
        told.setdefault(name, problem["message"])
    return told


def _text(value: JsonValue) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
