"""Put a draft, the tools it names and its problems together for the builder's templates."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from sequences.definition import Problem
from sequences.forms.calm import is_blank_at
from sequences.forms.cards import RowCard
from sequences.forms.drafts import APPROVAL, BESIDE, Draft, Row, StepDraft
from sequences.forms.reach import output_names
from sequences.forms.saved import default_key
from sequences.forms.schema_posts import SchemaEditor, schema_editor
from sequences.forms.settling import inputs_of
from sequences.forms.step_tools import StepTool, tool_at

STEP_FIELDS = {
    "toolToRunId": "tool",
    "toolVersion": "version",
    "title": "title",
    "when": "when",
    "forEach.items": "each",
    "forEach.parallel": "parallel",
    "forEach.maxItems": "max_items",
    "forEach": "each",
    "parallel": "beside",
    "outputDisplaySuccess": "success",
    "outputDisplayFailure": "failure",
    "continueOnFailure": "continue",
    "fallback": "fallback",
    "storeOutputAs": "store_as",
    "timeoutSeconds": "timeout",
    "retry.attempts": "attempts",
    "retry.backoffSeconds": "backoff",
    "retry.backoffFactor": "factor",
    "retry": "attempts",
    "repeatable": "repeatable",
    "disabled": "disabled",
    "approval.title": "ask_title",
    "approval.message": "ask_message",
    "approval.inputSchema": "ask_schema",
    "approval.onRejected": "ask_rejected",
    "approval.expiresAfterSeconds": "ask_expires",
    "approval": "ask_message",
}
"""Field of a definition → field of the form; what is more exact comes first."""

OPTIONS = (
    *("version", "when", "each", "parallel", "max_items", "beside", "success", "failure"),
    *("continue", "fallback", "timeout", "attempts", "backoff", "factor", "repeatable"),
)
"""Fields that are folded away until they say something that has to be mended."""

LONGEST_CONDITION = 40

OWN_FIELDS = (
    *(("name", "name"), ("description", "description"), ("visibility", "visibility")),
    *(("team", "team"), ("schema", "inputSchema"), ("scopes", "requiredScopes")),
    *(("reason", "reason"), ("max_runs", "maxConcurrentRuns")),
)


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
    each: RowCard
    errors: Mapping[str, tuple[str, ...]]
    is_first: bool
    is_last: bool
    in_block: bool

    @property
    def anchor(self) -> str:
        """Return the id of the card, which the picture's boxes lead to."""
        own = self.step.key != default_key(self.number)
        return f"step-{self.step.key if own else self.number}"

    @property
    def is_approval(self) -> bool:
        """Tell whether it asks a person instead of calling a tool."""
        return self.step.kind == APPROVAL

    @property
    def ask_editor(self) -> SchemaEditor:
        """Return the editor of the form that the person fills in."""
        return schema_editor(self.step.ask_schema, f"{self.prefix}-ask_schema")

    @property
    def name(self) -> str:
        """Return what the step is called on the page."""
        return self.step.title.strip() or self.unnamed

    @property
    def unnamed(self) -> str:
        """Return what the step is called until it is given a name of its own."""
        if self.is_approval:
            return self.step.ask_title.strip() or "Ask a person"
        return (self.tool.title if self.tool else self.step.tool.strip()) or "New step"

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
    def error_count(self) -> int:
        """Return how many things in this card have to be mended."""
        rows = (*self.rows, *self.left_out, self.each)
        return sum(map(len, self.errors.values())) + sum(len(row.errors) for row in rows)

    @property
    def has_errors(self) -> bool:
        """Tell whether anything in this card has to be mended."""
        return self.error_count > 0

    @property
    def opens_options(self) -> bool:
        """Tell whether a folded field has to be mended."""
        return bool(self.each.errors) or any(name in self.errors for name in OPTIONS)

    @property
    def options(self) -> str:
        """Return in one line what the folded fields say; empty where they say nothing."""
        return " · ".join(_option_words(self.step))


@dataclass(frozen=True, kw_only=True)
class Builder:
    """Everything that the builder shows.

    `problem_count` things have to be mended; `open_count` more were not filled in yet, which is
    told without alarm.
    """

    draft: Draft
    steps: tuple[StepCard, ...]
    final: tuple[RowCard, ...]
    errors: Mapping[str, tuple[str, ...]]
    problem_count: int
    open_count: int = 0

    @property
    def schema_editor(self) -> SchemaEditor:
        """Return the editor of the sequence's inputs."""
        return schema_editor(self.draft.schema, "schema")

    @property
    def marks(self) -> dict[str, list[str]]:
        """Return the messages of the whole page by the id of the element that shows them."""
        marks = {f"{field}-error": messages for field, messages in self.errors.items()}
        for card in self.steps:
            marks |= {f"{card.prefix}-{field}-error": told for field, told in card.errors.items()}
            for row in (*card.rows, *card.left_out, card.each):
                marks[f"{row.prefix}-error"] = row.errors
        marks |= {f"{row.prefix}-error": row.errors for row in self.final}
        return {place: list(messages) for place, messages in marks.items() if messages}


def builder_of(
    draft: Draft,
    chosen: Mapping[str, StepTool],
    problems: Iterable[Problem] = (),
    *,
    strict: bool = True,
) -> Builder:
    """Return the builder's cards for a settled draft.

    Each problem is shown once: beside its row or field, else at its step, else at the top. Unless
    `strict`, what is merely not filled in yet is counted alone.
    """
    found = list(problems)
    told = found if strict else [each for each in found if not is_blank_at(draft, each)]
    told, count = list(told), len(told)
    names = inputs_of(draft)
    blocks = _in_blocks(draft.steps)
    steps = []
    for index, step in enumerate(draft.steps):
        outputs = output_names(draft.steps, index)
        tool = tool_at(chosen, step.tool, step.version)
        steps.append(_step_card(draft, index, tool, outputs, names, told, in_block=blocks[index]))
    final = tuple(
        RowCard(
            prefix=f"final-{position}",
            remove=f"remove-final-{position}",
            row=row,
            field=None,
            errors=_taken(told, None, f"finalOutputMapping.{row.name.strip()}"),
            outputs=output_names(draft.steps, None),
            inputs=names,
        )
        for position, row in enumerate(draft.final)
    )
    errors = {field: _taken(told, None, key) for field, key in OWN_FIELDS}
    errors["other"] = tuple(problem.message for problem in told)
    return Builder(
        draft=draft,
        steps=tuple(steps),
        final=final,
        errors=errors,
        problem_count=count,
        open_count=len(found) - count,
    )


def _step_card(
    draft: Draft,
    index: int,
    tool: StepTool | None,
    outputs: tuple[str, ...],
    inputs: tuple[str, ...],
    told: list[Problem],
    *,
    in_block: bool,
) -> StepCard:
    step = draft.steps[index]
    fields = tool.fields if tool else {}

    def card(prefix: str, row: Row, key: str, remove: str = "") -> RowCard:
        return RowCard(
            prefix=prefix,
            remove=remove,
            row=row,
            field=fields.get(row.name.strip()) if remove else None,
            errors=_taken(told, index + 1, key),
            outputs=outputs,
            inputs=inputs,
            has_item=bool(step.each.source),
        )

    cards = [
        card(
            f"steps-{index}-in-{position}",
            row,
            f"inputMapping.{row.name.strip()}",
            f"remove-row-{index}-{position}",
        )
        for position, row in enumerate(step.rows)
    ]
    each = card(f"steps-{index}-each", step.each, "forEach.items")
    errors: dict[str, tuple[str, ...]] = {}
    for key, field in STEP_FIELDS.items():
        if messages := _taken(told, index + 1, key):
            errors[field] = (*errors.get(field, ()), *messages)
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
        each=each,
        errors=errors,
        is_first=index == 0,
        is_last=index == len(draft.steps) - 1,
        in_block=in_block,
    )


def _option_words(step: StepDraft) -> Iterator[str]:
    if step.when.strip():
        yield f"only when {_shortened(step.when)}"
    if step.each.source:
        yield "once for each item"
    if step.beside == BESIDE:
        yield "beside the step above"
    elif step.beside:
        yield "in the branch of the step above"
    if step.attempts.strip() not in ("", "1"):
        yield f"{step.attempts.strip()} attempts"
    if step.fallback.strip():
        yield "goes on with a value if it fails"
    elif step.continue_on_failure:
        yield "goes on if it fails"
    if step.timeout.strip() not in ("", "30"):
        yield f"at most {step.timeout.strip()} s"
    if step.version.strip():
        yield f"version {step.version.strip()}"
    if step.repeatable:
        yield "may be called twice"


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_CONDITION else f"{line[:LONGEST_CONDITION]}…"


def _in_blocks(steps: list[StepDraft]) -> list[bool]:
    """Tell of each step whether another one runs at the same time."""
    starts = [index for index, step in enumerate(steps) if not step.beside or index == 0]
    within: list[bool] = []
    for start, end in pairwise([*starts, len(steps)]):
        block = any(step.beside == BESIDE for step in steps[start + 1 : end])
        within += [block] * (end - start)
    return within


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
    if mine:
        told[:] = [problem for problem in told if problem not in mine]
    return tuple(problem.message for problem in mine)
