"""Check a sequence as it would be after its tools have changed, against how it is now."""

from collections.abc import Mapping
from itertools import chain

from config.lib.types import JsonSchema
from registry.impact.parts import Trouble
from sequences.definition import Definition, Problem, Step
from sequences.flow import breaks, flow_problems
from sequences.shapes import ToolShape
from sequences.validation import validate

Shapes = Mapping[str, ToolShape]


def shape_key(step: Step) -> str:
    """Return what stands for the tool of a step, at the version that the step pins."""
    pinned = step.tool_version
    return f"{step.tool}@{pinned}" if pinned else step.tool


def introduced(
    definition: Definition, input_schema: JsonSchema, *, before: Shapes, after: Shapes
) -> list[Trouble]:
    """Return what goes wrong with the tools as in `after` that does not with those in `before`.

    Shapes are by `shape_key`. A step whose tool is in neither is passed over: it cannot run now.
    """
    changed = {key for key, shape in after.items() if before.get(key) != shape}
    if not changed:
        return []
    known = {problem.path for problem in _problems(definition, input_schema, before)}
    runs = {
        step.step_number
        for step in definition.steps
        if step.approval is not None or shape_key(step) in after
    }
    return [
        trouble_of(problem)
        for problem in _problems(definition, input_schema, after)
        if problem.path not in known and (problem.step is None or problem.step in runs)
    ]


def trouble_of(problem: Problem) -> Trouble:
    """Return a problem as it is told of a change: with its place in words."""
    field = problem.field or ""
    name = field.partition(".")[2]
    match field.partition(".")[0]:
        case "inputMapping":
            place = f"input “{name}”"
        case "finalOutputMapping":
            place = f"output “{name}”"
        case first:
            place = _PLACES.get(field) or _PLACES.get(first, field)
    where = f"step {problem.step}, {place}" if problem.step else place
    return Trouble(
        where=where,
        message=problem.message,
        step=problem.step,
        field=name or None,
        breaks=breaks(problem),
    )


_PLACES = {
    "toolToRunId": "its tool",
    "toolVersion": "its version",
    "outputDisplaySuccess": "its message on success",
    "outputDisplayFailure": "its message on failure",
    "when": "its condition",
    "forEach": "its loop",
    "fallback": "its fallback value",
    "approval.inputSchema": "its form",
    "approval": "its question",
}


def _problems(definition: Definition, input_schema: JsonSchema, tools: Shapes) -> list[Problem]:
    """Check the definition with each step's tool at just the version that the step calls."""
    steps = tuple(
        step
        if step.approval
        else step.model_copy(update={"tool_to_run_id": shape_key(step), "tool_version": None})
        for step in definition.steps
    )
    definition = definition.model_copy(update={"steps": steps})
    return list(
        chain(
            validate(definition, tools=tools, input_schema=input_schema),
            flow_problems(definition, tools=tools, input_schema=input_schema),
        )
    )
