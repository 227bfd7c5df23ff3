"""Try out a draft before it is published: one step, up to a step, from a step on, or all of it.

A test is a `Run` of the draft's own definition: the worker plays it as any other, with real calls.
What steps gave is kept as `DraftOutput`, by which a later test goes on where an earlier one ended,
and what a step gave may be edited to see what the steps behind it make of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from config.lib.errors import InvalidInput, NotFound
from config.lib.jsontext import size_of, storable
from config.lib.types import JsonObject, JsonSchema, JsonValue
from registry.execution import LARGEST_OUTPUT
from registry.models.invocation import Caller
from registry.schemas import validate_arguments
from sequences.definition import Definition, DefinitionInvalid, Step, parse
from sequences.mapping import resolve_inputs
from sequences.models import DraftOutput, Run, RunStep, SequenceDraft
from sequences.models.run_step import StepStatus
from sequences.nesting import nesting_problems
from sequences.selectors import tool_shapes
from sequences.sending import enqueue_on_commit
from sequences.testing_plan import item_key, names_read, step_digests, up_to
from sequences.validation import validate


class NotTestedYet(InvalidInput):
    """A step before it has not been tested."""

    code = "not_tested_yet"


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What is tested: the draft as it stands, with an input.

    `first` and `last` are keys of steps: what stands before `first` is taken from earlier tests,
    and what stands behind `last` is left out. Empty: the first and the last step. `scopes` are what
    the test is limited to, None where it is not.
    """

    draft: SequenceDraft
    definition: JsonValue
    input_schema: JsonSchema
    given: JsonValue
    first: str = ""
    last: str = ""
    caller: Caller = Caller.BROWSER
    scopes: frozenset[str] | None = None


def trial_start(trial: Trial, *, user: User) -> Run:
    """Start a test in the worker and return its run, queued.

    Only the steps that are tested have to be finished; raises DefinitionInvalid with what is wrong
    with them, NotFound for a step that is not there, InvalidArguments for an input that does
    not fit, NotTestedYet where the output of an earlier step is needed and not known.
    """
    _require_step(trial.definition, trial.first, trial.last)
    data = up_to(trial.definition, trial.last)
    definition = _checked(data, trial, user)
    before = list(_before(definition, trial.first))
    reused = _reused(trial.draft, definition, data, before)
    given = validate_arguments(trial.input_schema, trial.given)
    return _queued(trial, data, given, reused, user)


def item_start(trial: Trial, index: int, *, user: User) -> Run:
    """Start a test of one item of the loop of the step `trial.last`.

    Raises as `trial_start` does, and InvalidInput where there is no such item.
    """
    _require_step(trial.definition, trial.last)
    data = up_to(trial.definition, trial.last)
    definition = _checked(data, trial, user)
    step = definition.steps[-1]
    if step.for_each is None:
        raise InvalidInput(f"Step {step.step_number} has no loop.", "Test the step itself.")
    given = validate_arguments(trial.input_schema, trial.given)
    before = list(definition.steps[:-1])
    reused = _reused(trial.draft, definition, data, before)
    known = {
        "initial": given,
        "steps": {
            earlier.store_output_as: row.output
            for earlier, row in zip(before, reused, strict=True)
            if earlier.store_output_as and row.status == StepStatus.REUSED
        },
    }
    items = resolve_inputs({"items": step.for_each.items}, known)["items"]
    if not isinstance(items, list) or not 0 <= index < len(items):
        count = len(items) if isinstance(items, list) else 0
        raise InvalidInput(f"There is no item {index + 1}; there are {count}.", "Choose another.")
    looped = data["steps"][-1]
    looped["forEach"]["items"] = {"source": "static", "value": [items[index]]}
    looped["key"] = item_key(trial.last, index)
    return _queued(trial, data, given, reused, user)


def output_edit(
    draft: SequenceDraft, definition: JsonValue, key: str, output: JsonValue
) -> DraftOutput:
    """Say what a step gives, for the tests of the steps behind it."""
    if (size := size_of(output)) > LARGEST_OUTPUT:
        raise InvalidInput(
            f"This has {size:,} bytes; a step gives at most {LARGEST_OUTPUT:,}.", "Shorten it."
        )
    digests = step_digests(definition)
    if key not in digests:
        raise no_such_step()
    kept, _ = DraftOutput.objects.update_or_create(
        draft=draft,
        step_key=key,
        defaults={
            "digest": digests[key],
            "output": storable(output),
            "error": None,
            "is_edited": True,
            "run": None,
        },
    )
    return kept


def output_forget(draft: SequenceDraft, key: str) -> None:
    """Forget what a step gave, as it was edited or tested."""
    DraftOutput.objects.filter(draft=draft, step_key=key).delete()


def no_such_step() -> NotFound:
    """Return what is raised for the key of no step."""
    return NotFound("The draft has no such step.", "Choose one of its steps.")


def _require_step(definition: JsonValue, *keys: str) -> None:
    """Raise NotFound for a key that no step has; an empty one names none."""
    if not {key for key in keys if key} <= step_digests(definition).keys():
        raise no_such_step()


def _checked(data: JsonObject, trial: Trial, user: User) -> Definition:
    definition = parse(data)
    problems = validate(
        definition,
        tools=tool_shapes(user, definition),
        input_schema=trial.input_schema,
        self_id=str(trial.draft.tool_id) if trial.draft.tool_id else None,
    )
    if trial.draft.tool_id:
        problems += nesting_problems(definition, trial.draft.tool_id)
    if problems:
        raise DefinitionInvalid(problems)
    return definition


def _before(definition: Definition, first: str) -> Iterator[Step]:
    """Yield the steps that stand before the one with this key; none where there is no such key."""
    if first not in {step.key for step in definition.steps}:
        return
    for step in definition.steps:
        if step.key == first:
            return
        yield step


def _reused(
    draft: SequenceDraft, definition: Definition, data: JsonObject, before: list[Step]
) -> list[RunStep]:
    """Return the rows of the steps that are not run again; those nothing reads are skipped."""
    if not before:
        return []
    kept = {row.step_key: row for row in draft.outputs.all()}
    digests = step_digests(data)
    tested = definition.steps[len(before) :]
    wanted = names_read(data["steps"][len(before) :])
    if definition.final_output_mapping is not None:
        wanted |= names_read([{"inputMapping": data["finalOutputMapping"]}])
    rows = []
    for step in before:
        known = kept.get(step.key or "")
        fresh = known is not None and (known.is_edited or known.digest == digests[known.step_key])
        if known is not None and fresh and known.error is None:
            rows.append(_row(step, StepStatus.REUSED, known.output, known.input))
        elif step.store_output_as in wanted:
            said = "has changed since it was tested" if known else "has not been tested yet"
            raise NotTestedYet(
                f"Step {tested[0].step_number} reads what step {step.step_number} gives, which "
                f"{said}.",
                f"Test up to step {tested[0].step_number}, or say what step {step.step_number} "
                "gives.",
                step=step.step_number,
            )
        else:
            rows.append(_row(step, StepStatus.SKIPPED, None, None))
    return rows


def _row(step: Step, status: StepStatus, output: JsonValue, given: JsonValue) -> RunStep:
    return RunStep(
        number=step.step_number,
        key=step.key or "",
        title=step.name,
        status=status,
        input=given,
        output=output,
        message="" if status == StepStatus.REUSED else "Not part of this test.",
        started_at=timezone.now(),
        duration_ms=0,
    )


def _queued(
    trial: Trial, data: JsonObject, given: JsonObject, rows: list[RunStep], user: User
) -> Run:
    with transaction.atomic():
        run = Run.objects.create(
            draft=trial.draft,
            definition=data,
            input=storable(given),
            caller=trial.caller,
            scopes=None if trial.scopes is None else sorted(trial.scopes),
            user=user,
        )
        for row in rows:
            row.run = run
        RunStep.objects.bulk_create(rows)
        enqueue_on_commit(run.pk)
    return run


def latest_test(draft: SequenceDraft, user: User) -> Run | None:
    """Return the newest test of a draft by this person."""
    return draft.tests.filter(user=user).order_by("-created_at", "pk").first()
