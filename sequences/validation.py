"""Check a sequence against the tools it calls and against its own input schema.

`definition.parse` knows the shape alone; here it is told what would go wrong in a run, in words
for a person who cannot program, each with what to do. A step that is switched off is not checked.
"""

from collections.abc import Iterator, Mapping

from config.lib.types import JsonSchema
from registry.schemas import check_schema
from sequences.definition import Definition, InputSource, Step
from sequences.problems import Place, Problem, problem_at
from sequences.shapes import ToolShape
from sequences.source_checks import Known, condition_problems, source_problems, template_problems
from sequences.step_checks import (
    fallback_problems,
    loop_problems,
    question_problems,
    tool_problems,
)

__all__ = ["Place", "ToolShape", "known_at", "validate"]

SUCCESS_ROOTS = ("input", "result")
FAILURE_ROOTS = ("input", "error")


def validate(
    definition: Definition,
    *,
    tools: Mapping[str, ToolShape],
    input_schema: JsonSchema,
    self_id: str | None = None,
) -> list[Problem]:
    """Return every problem of the sequence; empty when it can be published.

    `tools` are the tools its author may use, by id; `self_id` is the id of the sequence itself.
    """
    problems = [
        Problem(found.path, None, "inputSchema", f"The input schema is not valid: {found.message}")
        for found in check_schema(input_schema)
    ]
    inputs = tuple(input_schema.get("properties", {})) if not problems else ()
    for index, step in enumerate(definition.steps):
        if not step.disabled:
            known = known_at(definition, index, inputs)
            problems += _step_problems(index, step, known, tools, self_id)
    final = definition.final_output_mapping or {}
    known = known_at(definition, None, inputs)
    problems += _mapping_problems(("finalOutputMapping",), final, known)
    return problems


def known_at(definition: Definition, index: int | None, inputs: tuple[str, ...]) -> Known:
    """Return what the step at `index` may read; None stands for the final output."""
    outputs: dict[str, int] = {}
    withheld: dict[str, str] = {}
    for place, step in enumerate(definition.steps):
        name = step.store_output_as
        if name is None:
            continue
        if reason := _why_withheld(definition, place, index):
            withheld[name] = f"“{name}” is the output of step {place + 1}, {reason}"
        else:
            outputs[name] = place + 1
    in_loop = index is not None and definition.steps[index].for_each is not None
    return Known(inputs, outputs, withheld, in_loop)


def _why_withheld(definition: Definition, place: int, index: int | None) -> str:
    """Say why the step at `index` cannot read what the one at `place` stores; empty if it can."""
    step = definition.steps[place]
    if index is not None and place >= index:
        return "which has not run by then. Choose the output of an earlier step, or move the steps."
    if step.disabled:
        return "which is switched off. Switch it on, or map another value."
    reader = definition.steps[index].parallel if index is not None else None
    own = step.parallel
    if own and reader and own.group == reader.group and own.branch != reader.branch:
        return (
            "in another branch, which runs at the same time. "
            "Put both steps into one branch, or choose an output from before the branches."
        )
    return ""


def _step_problems(
    index: int,
    step: Step,
    known: Known,
    tools: Mapping[str, ToolShape],
    self_id: str | None,
) -> Iterator[Problem]:
    place: Place = ("steps", index)
    if step.approval is None:
        yield from tool_problems(index, step, tools, self_id)
    yield from question_problems((*place, "approval"), step.approval, known)
    if step.when:
        for message in condition_problems(step.when, known):
            yield problem_at((*place, "when"), message)
    yield from loop_problems((*place, "forEach", "items"), step, known)
    yield from _mapping_problems((*place, "inputMapping"), step.input_mapping, known)
    yield from fallback_problems((*place, "fallback", "value"), step, tools.get(step.tool))
    for field, template, roots in (
        ("outputDisplaySuccess", step.output_display_success, SUCCESS_ROOTS),
        ("outputDisplayFailure", step.output_display_failure, FAILURE_ROOTS),
    ):
        for message in template_problems(template, known, roots):
            yield problem_at((*place, field), message)


def _mapping_problems(
    place: Place, mapping: Mapping[str, InputSource], known: Known
) -> Iterator[Problem]:
    for name, source in mapping.items():
        for message in source_problems(source, known):
            yield problem_at((*place, name), message)
