"""Put a draft, the tools it names and its problems together for the builder's templates."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from registry.schema_forms import FormField
from sequences.definition import Problem
from sequences.forms.drafts import Draft, Row, StepDraft
from sequences.forms.step_tools import StepTool, tool_at

SOURCES = (
    ("initialInput", "Initial input"),
    ("static", "Static value"),
    ("previousStep", "Earlier step"),
    ("template", "Template"),
)

TYPE_WORDS = {
    "string": "text",
    "number": "number",
    "integer": "whole number",
    "boolean": "true or false",
    "json": "JSON",
}

STEP_FIELDS = {
    "toolToRunId": "tool",
    "toolVersion": "version",
    "outputDisplaySuccess": "success",
    "outputDisplayFailure": "failure",
    "storeOutputAs": "store_as",
    "timeoutSeconds": "timeout",
    "retry.attempts": "attempts",
    "retry.backoffSeconds": "backoff",
}
"""Field of a definition → field of the form."""


@dataclass(frozen=True, kw_only=True)
class RowCard:
    """One row of a mapping; `field` is None when the tool's schema does not name it."""

    prefix: str
    remove: str
    row: Row
    field: FormField | None
    errors: tuple[str, ...]
    outputs: tuple[str, ...]
    inputs: tuple[str, ...]

    @property
    def chosen(self) -> str:
        """Return the input or output that is chosen; none where the source was just changed."""
        here, there = self.inputs, self.outputs
        if self.row.source == "previousStep":
            here, there = there, here
        left_over = self.row.value in there and self.row.value not in here
        return "" if left_over else self.row.value

    @property
    def name_id(self) -> str:
        """Return the id of the field that holds the name."""
        return f"{self.prefix}-name"

    @property
    def type_words(self) -> str:
        """Return what kind of value the input takes."""
        return TYPE_WORDS[self.field.type] if self.field else ""

    @property
    def choices(self) -> tuple[str, ...]:
        """Return what a static value may be, where that is a short list."""
        if self.field is None:
            return ()
        if self.field.type == "boolean":
            return ("true", "false")
        return tuple(choice for choice in self.field.enum if isinstance(choice, str))


@dataclass(frozen=True, kw_only=True)
class StepCard:
    """One step of the builder; `errors` are the messages for each field of the form."""

    prefix: str
    position: int
    number: int
    step: StepDraft
    tool: StepTool | None
    rows: tuple[RowCard, ...]
    left_out: tuple[RowCard, ...]
    errors: Mapping[str, tuple[str, ...]]
    is_first: bool
    is_last: bool

    @property
    def versions(self) -> tuple[str, ...]:
        """Return the versions that may be pinned, the pinned one among them."""
        offered = self.tool.numbers if self.tool else ()
        pinned = self.step.version.strip()
        return offered if not pinned or pinned in offered else (pinned, *offered)

    @property
    def pinned_behind(self) -> int | None:
        """Return the pinned version where another one is live, else None."""
        pinned = self.step.version.strip()
        if self.tool is None or pinned not in self.tool.numbers or int(pinned) == self.tool.live:
            return None
        return int(pinned)

    @property
    def has_errors(self) -> bool:
        """Tell whether anything in this card has to be mended."""
        rows = (*self.rows, *self.left_out)
        return bool(self.errors) or any(row.errors for row in rows)

    @property
    def has_options(self) -> bool:
        """Tell whether one of the folded fields was filled in or has to be mended."""
        step = self.step
        filled = (step.version, step.attempts, step.backoff, step.continue_on_failure)
        return any(filled) or any(
            name in self.errors for name in ("version", "timeout", "attempts", "backoff")
        )


@dataclass(frozen=True, kw_only=True)
class Builder:
    """Everything that the builder shows."""

    draft: Draft
    steps: tuple[StepCard, ...]
    final: tuple[RowCard, ...]
    errors: Mapping[str, tuple[str, ...]]
    problem_count: int


def builder_of(
    draft: Draft,
    chosen: Mapping[str, StepTool],
    inputs: Iterable[str],
    problems: Iterable[Problem] = (),
) -> Builder:
    """Return the builder's cards; `inputs` are the names of the sequence's own inputs.

    Each problem is shown once: beside its row or field, else at its step, else at the top.
    """
    told = list(problems)
    count = len(told)
    names = tuple(inputs)
    steps = []
    outputs: tuple[str, ...] = ()
    for index, step in enumerate(draft.steps):
        tool = tool_at(chosen, step.tool, step.version)
        steps.append(_step_card(draft, index, tool, outputs, names, told))
        outputs = (*outputs, step.store_as.strip()) if step.store_as.strip() else outputs
    final = tuple(
        RowCard(
            prefix=f"final-{position}",
            remove=f"remove-final-{position}",
            row=row,
            field=None,
            errors=_taken(told, None, f"finalOutputMapping.{row.name.strip()}"),
            outputs=outputs,
            inputs=names,
        )
        for position, row in enumerate(draft.final)
    )
    errors: dict[str, tuple[str, ...]] = {
        field: _taken(told, None, key)
        for field, key in (
            *(("name", "name"), ("description", "description")),
            *(("visibility", "visibility"), ("team", "team"), ("schema", "inputSchema")),
            ("scopes", "requiredScopes"),
            ("reason", "reason"),
        )
    }
    errors["other"] = tuple(problem.message for problem in told)
    return Builder(draft=draft, steps=tuple(steps), final=final, errors=errors, problem_count=count)


def _step_card(
    draft: Draft,
    index: int,
    tool: StepTool | None,
    outputs: tuple[str, ...],
    inputs: tuple[str, ...],
    told: list[Problem],
) -> StepCard:
    step = draft.steps[index]
    fields = tool.fields if tool else {}
    cards = [
        RowCard(
            prefix=f"steps-{index}-in-{position}",
            remove=f"remove-row-{index}-{position}",
            row=row,
            field=fields.get(row.name.strip()),
            errors=_taken(told, index + 1, f"inputMapping.{row.name.strip()}"),
            outputs=outputs,
            inputs=inputs,
        )
        for position, row in enumerate(_with_inputs(step.rows, fields, inputs))
    ]
    errors = {
        field: messages
        for key, field in STEP_FIELDS.items()
        if (messages := _taken(told, index + 1, key))
    }
    if others := _taken(told, index + 1, ""):
        errors["other"] = others
    return StepCard(
        prefix=f"steps-{index}",
        position=index,
        number=index + 1,
        step=step,
        tool=tool,
        rows=tuple(card for card in cards if not _is_left_out(card)),
        left_out=tuple(card for card in cards if _is_left_out(card)),
        errors=errors,
        is_first=index == 0,
        is_last=index == len(draft.steps) - 1,
    )


def _with_inputs(
    rows: list[Row], fields: Mapping[str, FormField], inputs: tuple[str, ...]
) -> list[Row]:
    """Return a row for each input of the tool, then the further rows that hold something.

    A required input that is new here is taken from the sequence's input of the same name.
    """
    by_name = {row.name.strip(): row for row in rows}
    known = [by_name.get(name) or _fresh(field, inputs) for name, field in fields.items()]
    shown = {id(row) for row in known}
    return [*known, *(row for row in rows if id(row) not in shown and not row.is_untouched)]


def _fresh(field: FormField, inputs: tuple[str, ...]) -> Row:
    if not field.required:
        return Row(name=field.name)
    if field.name in inputs:
        return Row(name=field.name, source="initialInput", value=field.name)
    return Row(name=field.name, source="static")


def _is_left_out(card: RowCard) -> bool:
    return card.field is not None and not card.row.source and not card.errors


def _taken(told: list[Problem], step: int | None, field: str) -> tuple[str, ...]:
    """Take the problems of a field, or of anything within it, out of the list."""
    mine = [
        problem
        for problem in told
        if problem.step == step
        and (not field or problem.field == field or (problem.field or "").startswith(f"{field}."))
    ]
    told[:] = [problem for problem in told if problem not in mine]
    return tuple(problem.message for problem in mine)
