"""One row of a mapping, as the builder's templates show it."""

import re
from dataclasses import dataclass

from registry.schema_forms import FormField
from sequences.forms.drafts import Row
from sequences.forms.static_values import text_from_static

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

LONGEST_DEFAULT = 60

_OF_STEP = re.compile(r"steps-(\d+)-in-(\d+)$")
_FORMAT_WORDS = {"date": "date", "date-time": "date and time", "uri": "address (URL)"}
_DATE = re.compile(r"\d{4}-\d\d-\d\d$")
_INPUT_TYPES = {"date": "date", "email": "email", "uri": "url"}
_PLACEHOLDERS = {"date-time": "2026-01-31T12:00:00Z", "time": "12:00:00Z", "uuid": "a UUID"}


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
    has_item: bool = False
    """Whether the step is repeated for a list, so that there is an item to take."""

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
        if self.field is None:
            return ""
        words = "list of texts" if self.field.lines else TYPE_WORDS[self.field.type]
        return _FORMAT_WORDS.get(self.field.format, words)

    @property
    def choices(self) -> tuple[tuple[str, str], ...]:
        """Return what a static value may be, where that is a short list, each with its words."""
        if self.field is None:
            return ()
        if self.field.enum:
            texts = (text_from_static(choice, self.field) for choice in self.field.enum)
            return tuple((text, text) for text in texts)
        return (("true", "Yes"), ("false", "No")) if self.field.type == "boolean" else ()

    @property
    def choice_values(self) -> tuple[str, ...]:
        """Return the values of `choices` alone."""
        return tuple(value for value, _ in self.choices)

    @property
    def control(self) -> str:
        """Return how a static value is typed: `lines` of a list, `json`, or `text`."""
        if self.field is None or self.field.type != "json":
            return "text"
        typed_as_json = self.row.value.lstrip()[:1] in ("[", "{")
        return "lines" if self.field.lines and not typed_as_json else "json"

    @property
    def input_type(self) -> str:
        """Return the type of the HTML input of a static value."""
        kind = _INPUT_TYPES.get(self.field.format, "text") if self.field else "text"
        # What is no date would not be seen in a field that takes dates alone.
        odd = kind == "date" and self.row.value and not _DATE.match(self.row.value)
        return "text" if odd else kind

    @property
    def placeholder(self) -> str:
        """Return what shows how a static value is typed."""
        if self.field is None:
            return "text, or JSON"
        if self.field.default is not None:
            return self.default
        if self.control == "json":
            return "JSON"
        return _PLACEHOLDERS.get(self.field.format, "")

    @property
    def default(self) -> str:
        """Return what the tool takes where the input is left out, as it is typed, on one line."""
        if self.field is None or self.field.default is None:
            return ""
        text = " ".join(text_from_static(self.field.default, self.field).split())
        return text if len(text) <= LONGEST_DEFAULT else f"{text[:LONGEST_DEFAULT]}…"

    @property
    def lines(self) -> int:
        """Return how many lines high a static value's text area is."""
        return min(max(self.row.value.count("\n") + 1, 2), 12)

    @property
    def make_input(self) -> str:
        """Return the action that makes an input of the sequence of it; empty where none does."""
        match = _OF_STEP.match(self.prefix)
        fixed = self.row.source in ("", "static")
        named = self.row.name.strip() != ""
        return f"make-input-{match[1]}-{match[2]}" if match and fixed and named else ""
