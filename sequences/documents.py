"""The shape of a sequence in a file: what it is, and what its tools are called everywhere.

Ids and numbers of versions mean nothing at another Outfitter, so the steps of a document name
their tools by `ToolNamed.id`, and a pinned version is named by what it was (its digest).
"""

import json
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from agents.documents import PackageNamed
from config.lib.documents import DocumentPart, Short, Text, is_deep, problems_of
from config.lib.errors import InvalidInput
from config.lib.jsontext import storable
from config.lib.types import JsonObject, JsonValue
from sequences.definition import MAX_STEPS

FORMAT, VERSION = "sequence", 1
LARGEST = 1_000_000
"""Characters of JSON that are read."""

DEEPEST = 80
"""How deep its objects and lists may stand in one another, sequences within it among them."""

HIDDEN = "not_to_be_seen"
"""Stands for the name of a tool that whoever took the sequence out may not use."""


class DocumentRefused(InvalidInput):
    """This is not a sequence that can be read."""

    code = "bad_sequence_document"
    default_hint = "Send what “Export” of a sequence gave you."


class ToolNamed(DocumentPart):
    """A tool that steps call; they name it by `id`, which means something in this document alone.

    `export` is its name in its package. `versions` are those that steps pin: number → digest.
    `document` is the sequence itself, where it is one and was taken along.
    """

    id: Annotated[str, Field(min_length=1, max_length=300)]
    wire_name: Short
    kind: Short = ""
    title: Short = ""
    package: PackageNamed | None = None
    export: Short = ""
    versions: dict[str, Short] = Field(default_factory=dict)
    document: "SequenceDocument | None" = None


class SampleSaid(DocumentPart):
    """An input to try it with."""

    name: Annotated[str, Field(min_length=1, max_length=80)]
    input: dict[str, Any]


class SequenceDocument(DocumentPart):
    """All of a sequence but its runs, and who shares it; `left_out` names values like secrets."""

    outfitter: Literal["sequence"] = "sequence"
    format: Literal[1] = 1
    name: Short
    description: Text = ""
    input_schema: dict[str, Any] = Field(default_factory=lambda: {"type": "object"})
    definition: dict[str, Any]
    tools: list[ToolNamed] = Field(default_factory=list, max_length=MAX_STEPS)
    required_scopes: list[Annotated[str, Field(max_length=100)]] = Field(
        default_factory=list, max_length=200
    )
    samples: list[SampleSaid] = Field(default_factory=list, max_length=20)
    left_out: list[Short] = Field(default_factory=list, max_length=200)

    @model_validator(mode="after")
    def _named_once(self) -> Self:
        named = [tool.id for tool in self.tools]
        if twice := next((name for name in named if named.count(name) > 1), None):
            raise ValueError(f"The tool “{twice}” is listed twice.")
        return self

    def as_json(self) -> JsonObject:
        """Return the document as it is written; what says nothing is left out."""
        return self.model_dump(by_alias=True, exclude_defaults=True) | {
            "outfitter": FORMAT,
            "format": VERSION,
        }


def document_in(text: str) -> SequenceDocument:
    """Return the sequence that a text of JSON describes; raise DocumentRefused with the place."""
    if len(text) > LARGEST:
        raise DocumentRefused(f"It has more than {LARGEST:,} characters.")
    if not text.strip():
        raise DocumentRefused("Nothing was sent.", "Choose a file, or paste its text.")
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise DocumentRefused(
            f"It is no JSON: line {error.lineno}, column {error.colno}: {error.msg}.",
            "Correct it there, or export the sequence again.",
        ) from None
    except (ValueError, RecursionError):
        raise DocumentRefused("It is nested too deep, or holds a number too long.") from None
    return read_document(value)


def read_document(value: JsonValue) -> SequenceDocument:
    """Return the sequence that JSON describes; raise DocumentRefused with what is wrong where."""
    if not isinstance(value, dict):
        raise DocumentRefused("A sequence is a JSON object.")
    if is_deep(value, DEEPEST):
        raise DocumentRefused(f"It is nested more than {DEEPEST} deep.")
    if value.get("outfitter") != FORMAT:
        raise DocumentRefused(f"Its “outfitter” is not “{FORMAT}”.")
    if value.get("format") != VERSION:
        raise DocumentRefused(
            f"Its “format” is {str(value.get('format'))[:20]}; this Outfitter reads {VERSION}.",
            "Export it again, or upgrade Outfitter.",
        )
    try:
        return SequenceDocument.model_validate(storable(value))
    except ValidationError as error:
        told, problems = problems_of(error)
        raise DocumentRefused(told, problems=problems) from None
