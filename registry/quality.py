"""Score how well a tool describes itself, from 0 to 1 (the seed's `qualityScore`)."""

from decimal import Decimal

from config.lib.types import JsonSchema
from registry.models import Tool

USEFUL_DESCRIPTION = 40
"""Characters from which a description tells a model what the tool is for."""


def quality_of(tool: Tool) -> Decimal:
    """Return the share of what a model needs to choose and call the tool that is there."""
    guidance = tool.ai_agent or {}
    points = [
        min(len(tool.description.strip()) / USEFUL_DESCRIPTION, 1.0),
        _described_parameters(tool.input_schema),
        1.0 if guidance.get("useCase") else 0.0,
        1.0 if guidance.get("examples") else 0.0,
        1.0 if tool.output_schema else 0.0,
    ]
    return Decimal(sum(points) / len(points)).quantize(Decimal("0.01"))


def _described_parameters(schema: JsonSchema) -> float:
    properties = schema.get("properties") or {}
    if not properties:
        return 1.0
    described = sum(1 for item in properties.values() if dict(item or {}).get("description"))
    return described / len(properties)
