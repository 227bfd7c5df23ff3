"""Tell what is worth a look before a sequence is published; it may be meant so, and saves.

A step that is left out by its condition, or fails and is passed over, stores no output. A step
that reads it without saying what then fails at that point of a run.
"""

from collections.abc import Iterator, Mapping
from itertools import chain

from config.lib.types import JsonSchema
from sequences.definition import Definition, Step
from sequences.flow import breaks, flow_problems
from sequences.problems import Problem, problem_at
from sequences.references import Reference, source_references, step_references
from sequences.shapes import ToolShape


def notices(
    definition: Definition, *, tools: Mapping[str, ToolShape], input_schema: JsonSchema
) -> Iterator[Problem]:
    """Yield what may go wrong in some runs, each at the field where it can be mended."""
    doubtful: dict[str, Step] = {}
    for index, step in enumerate(definition.steps):
        if not step.disabled:
            yield from _reads(index, step, doubtful)
        if step.store_output_as and _may_leave_nothing(step):
            doubtful[step.store_output_as] = step
    for name, source in (definition.final_output_mapping or {}).items():
        for reference in source_references(source):
            if told := _unguarded(reference, doubtful, None):
                yield problem_at(("finalOutputMapping", name), told)
    if isinstance(input_schema, Mapping) and isinstance(input_schema.get("properties", {}), dict):
        flow = flow_problems(definition, tools=tools, input_schema=input_schema)
        yield from (problem for problem in flow if not breaks(problem))


def _reads(index: int, step: Step, doubtful: Mapping[str, Step]) -> Iterator[Problem]:
    asked = {
        reference.name
        for field, reference in step_references(step)
        if field == "when" and reference.guarded
    }
    seen: set[tuple[str, str]] = set()
    for field, reference in step_references(step):
        key = (field, reference.name or "")
        if reference.name in asked or key in seen:
            continue
        if told := _unguarded(reference, doubtful, step):
            seen.add(key)
            first, _, rest = field.partition(".")
            yield problem_at(tuple(chain(("steps", index, first), (rest,) if rest else ())), told)


def _may_leave_nothing(step: Step) -> str:
    """Say why a step may end without an output; empty if it never does and the run goes on."""
    if step.when:
        return "may be skipped by its condition"
    if step.continue_on_failure and step.fallback is None:
        return "may fail and be passed over"
    return ""


def _unguarded(reference: Reference, doubtful: Mapping[str, Step], reader: Step | None) -> str:
    """Return what is told of reading what may not be there; empty where it is provided for."""
    if reference.root != "steps" or reference.guarded:
        return ""
    source = doubtful.get(reference.name or "")
    if source is None or (reader and reader.when and reader.when == source.when):
        return ""
    name = source.store_output_as
    means = (
        f"an expression with a default, such as steps.{name} || 'none'"
        if reader is None
        else f"this step the condition has(steps.{name}), or the input an expression with a "
        f"default, such as steps.{name} || 'none'"
    )
    what = "the output" if reader is None else "this step"
    return (
        f"Step {source.step_number} {_may_leave_nothing(source)}, and then leaves no “{name}”: "
        f"{what} would fail. Give {means}."
    )
