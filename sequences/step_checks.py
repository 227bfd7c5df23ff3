"""Check one step: the call against its tool, the loop, the question and the fallback value."""

from collections.abc import Iterator, Mapping

from config.lib.types import JsonSchema, JsonValue
from registry.schema_forms import form_fields
from registry.schemas import check_schema, property_problems
from sequences.definition import Approval, LoopItem, StaticValue, Step, Template
from sequences.problems import Place, Problem, problem_at
from sequences.shapes import ToolShape, call_output
from sequences.source_checks import Known, source_problems, template_problems


def tool_problems(
    index: int, step: Step, tools: Mapping[str, ToolShape], self_id: str | None
) -> Iterator[Problem]:
    """Yield what is wrong with the tool of a step, and with what the step gives it."""
    place: Place = ("steps", index, "toolToRunId")
    if self_id is not None and step.tool_to_run_id == self_id:
        yield problem_at(
            place, "A sequence cannot call itself, it would never end. Choose another tool."
        )
        return
    tool = tools.get(step.tool)
    if tool is None:
        yield problem_at(
            place,
            "This tool does not exist, or you may not use it. Choose a tool from the list.",
        )
        return
    if refused := tool.refused.get(step.tool_version or 0):
        yield problem_at(("steps", index, "toolVersion"), refused)
        return
    yield from _input_problems(("steps", index, "inputMapping"), step, tool)


def loop_problems(place: Place, step: Step, known: Known) -> Iterator[Problem]:
    """Yield what is wrong with the list that a step is repeated for."""
    if step.for_each is None:
        return
    items, most = step.for_each.items, step.for_each.max_items
    for message in source_problems(items, known.outside_loop()):
        if not isinstance(items, LoopItem):
            yield problem_at(place, message)
    match items:
        case LoopItem():
            yield problem_at(
                place, "The list cannot come from its own item. Map an input or an output."
            )
        case Template():
            yield problem_at(
                place,
                "A template gives a text, and a loop needs a list. Map an input or an output, or "
                "use an expression.",
            )
        case StaticValue(value=list(values)) if not values:
            yield problem_at(
                place, "The list is empty, so the step would never be called. Fill it."
            )
        case StaticValue(value=list(values)) if len(values) > most:
            yield problem_at(
                place,
                f"The list has {len(values)} items, more than the {most} that this step takes. "
                "Shorten it, or raise the limit (maxItems).",
            )
        case StaticValue(value=value) if not isinstance(value, list):
            yield problem_at(place, "A loop needs a list, such as [1, 2, 3].")


def question_problems(place: Place, approval: Approval | None, known: Known) -> Iterator[Problem]:
    """Yield what is wrong with what an approval step asks."""
    if approval is None:
        return
    for message in template_problems(approval.message, known):
        yield problem_at((*place, "message"), message)
    schema = approval.input_schema
    if schema is None:
        return
    problems = check_schema(schema)
    for found in problems:
        where = found.path.removeprefix("$").removeprefix(".")
        told = found.message.replace("The input schema", "The form")
        yield problem_at(
            (*place, "inputSchema"), f"The form is not valid{f' ({where})' * bool(where)}: {told}"
        )
    if problems:
        return
    for field in form_fields(schema):
        if field.type == "json" and not field.enum:
            yield problem_at(
                (*place, "inputSchema"),
                f"The form cannot ask for “{field.name}”. A field is a text, a number, yes or no, "
                "or a choice (enum).",
            )


def fallback_problems(place: Place, step: Step, tool: ToolShape | None) -> Iterator[Problem]:
    """Yield how a fallback value differs from what the step gives otherwise."""
    if step.fallback is None:
        return
    output, value = call_output(step, tool), step.fallback.value
    found = _misfits(output, value)
    if found and step.for_each:  # the list of all outputs will do, too
        found = _misfits({"type": "array", "items": output}, value) and found
    if found and isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        found = ["it begins like JSON but is none, so look for a missing bracket or quotation mark"]
    for message in found[:1]:
        what = f"“{tool.name}” gives" if tool else "the step gives"
        yield problem_at(
            place, f"The value is not like what {what}, which later steps rely on: {message}."
        )


def _misfits(schema: JsonSchema, value: JsonValue) -> list[str]:
    wrapped: JsonSchema = {"type": "object", "properties": {"value": schema}}
    return [
        f"“value{found.path.removeprefix('$')}” {found.message}"
        for found in property_problems(wrapped, "value", value)
    ]


def _input_problems(place: Place, step: Step, tool: ToolShape) -> Iterator[Problem]:
    schema = tool.input_of(step.tool_version)
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        has_default = isinstance(properties.get(name), Mapping) and "default" in properties[name]
        if name not in step.input_mapping and not has_default:
            yield problem_at(
                (*place, name),
                f"“{tool.name}” needs “{name}”. Add it and say where its value comes from.",
            )
    closed = schema.get("additionalProperties") is False and "patternProperties" not in schema
    for name, source in step.input_mapping.items():
        if closed and name not in properties:
            names = ", ".join(properties) or "none"
            yield problem_at(
                (*place, name),
                f"“{tool.name}” has no input “{name}”. Its inputs: {names}. "
                "Rename it or take it out.",
            )
        if isinstance(source, StaticValue):
            for found in property_problems(schema, name, source.value):
                where = found.path.removeprefix("$")
                yield problem_at(
                    (*place, name), f"The value of “{name}{where}” {found.message}. Change it."
                )
