"""Score how well a tool describes itself, from 0 to 1 (the seed's `qualityScore`)."""

from dataclasses import dataclass
from decimal import Decimal

from config.lib.types import JsonSchema
from registry.models import Tool

USEFUL_DESCRIPTION = 40
"""Characters from which a description tells a model what the tool is for."""


@dataclass(frozen=True, kw_only=True)
class QualityPart:
    """One thing a model needs: how much of it is there (0 to 1), and what would add to it."""

    name: str
    share: float
    advice: str

    @property
    def percent(self) -> int:
        """Return the share in percent."""
        return round(100 * self.share)


def quality_parts(tool: Tool) -> tuple[QualityPart, ...]:
    """Return what a model needs to choose and call the tool, each with its share."""
    guidance = tool.ai_agent or {}
    return (
        QualityPart(
            name="Description",
            share=min(len(tool.description.strip()) / USEFUL_DESCRIPTION, 1.0),
            advice=f"Say in {USEFUL_DESCRIPTION} characters or more what the tool is for.",
        ),
        QualityPart(
            name="Described parameters",
            share=_described_parameters(tool.input_schema),
            advice="Give every parameter a description.",
        ),
        QualityPart(
            name="When to use it",
            share=1.0 if guidance.get("useCase") else 0.0,
            advice="Add a use case to the tool's guidance.",
        ),
        QualityPart(
            name="Examples",
            share=1.0 if guidance.get("examples") else 0.0,
            advice="Add requests that the tool is the answer to.",
        ),
        QualityPart(
            name="Output schema",
            share=1.0 if tool.output_schema else 0.0,
            advice="Say what the tool answers with.",
        ),
    )


def quality_of(tool: Tool) -> Decimal:
    """Return the mean of the parts, in hundredths."""
    parts = quality_parts(tool)
    return Decimal(sum(part.share for part in parts) / len(parts)).quantize(Decimal("0.01"))


def _described_parameters(schema: JsonSchema) -> float:
    properties = schema.get("properties") or {}
    if not properties:
        return 1.0
    described = sum(1 for item in properties.values() if dict(item or {}).get("description"))
    return described / len(properties)
