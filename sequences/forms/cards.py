"""One row of a mapping, as the builder's templates show it."""

from dataclasses import dataclass

from registry.schema_forms import FormField
from sequences.forms.drafts import Row

SOURCES = (
    ("initialInput", "Initial input"),
    ("static", "Static value"),
    ("previousStep", "Earlier step"),
    ("template", "Template"),
    ("expression", "Expression"),
    ("item", "Item of the list"),
)
LOOP_SOURCES = tuple(
    (source, label) for source, label in SOURCES if source not in ("template", "item")
)
"""Where the list may come from that a step is repeated for."""

TYPE_WORDS = {
    "string": "text",
    "number": "number",
    "integer": "whole number",
    "boolean": "true or false",
    "json": "JSON",
}


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
