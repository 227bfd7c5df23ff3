"""What has to be known of a tool to check a step that calls it, and what a step gives."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from config.lib.types import JsonSchema
from sequences.definition import Approval, Step
from sequences.reading import ANY, inlined


@dataclass(frozen=True)
class ToolShape:
    """The schemas of a tool, and of those of its versions that steps pin."""

    name: str
    input_schema: JsonSchema
    pinned: Mapping[int, JsonSchema] = dataclasses.field(default_factory=dict)
    """The input schemas of the versions that steps pin."""
    refused: Mapping[int, str] = dataclasses.field(default_factory=dict)
    """Pinned versions that cannot be used, each with the reason."""
    output_schema: JsonSchema | None = None
    pinned_outputs: Mapping[int, JsonSchema | None] = dataclasses.field(default_factory=dict)

    def input_of(self, version: int | None) -> JsonSchema:
        """Return the input schema of a pinned version, or of the current one."""
        return self.pinned.get(version or 0, self.input_schema)

    def output_of(self, version: int | None) -> JsonSchema:
        """Return what is known of the output, without references; `ANY` where nothing is."""
        schema = self.pinned_outputs.get(version or 0, self.output_schema)
        return inlined(schema) if schema else ANY


def call_output(step: Step, tool: ToolShape | None) -> JsonSchema:
    """Return the schema of what one call, or one answer of a person, gives."""
    if step.approval is not None:
        return answer_schema(step.approval)
    return tool.output_of(step.tool_version) if tool else ANY


def step_output(step: Step, tool: ToolShape | None) -> JsonSchema:
    """Return the schema of what a step stores: of a loop, the list of its outputs."""
    output = call_output(step, tool)
    return {"type": "array", "items": output} if step.for_each else output


def answer_schema(approval: Approval) -> JsonSchema:
    """Return the schema of a person's answer to an approval step."""
    form = approval.input_schema
    return {
        "type": "object",
        "properties": {
            "approved": {"type": "boolean"},
            "by": {"type": ["string", "null"]},
            "note": {"type": "string"},
            "values": inlined(form) if form else {"type": ["object", "null"]},
        },
        "additionalProperties": False,
    }
