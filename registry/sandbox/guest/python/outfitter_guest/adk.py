"""The few names of `google.genai.types` that tools state their parameters with."""

import enum
from typing import Any


class Type(enum.StrEnum):
    """The types of a schema, spelled as the original spells them."""

    TYPE_UNSPECIFIED = "TYPE_UNSPECIFIED"
    STRING = "STRING"
    NUMBER = "NUMBER"
    INTEGER = "INTEGER"
    BOOLEAN = "BOOLEAN"
    ARRAY = "ARRAY"
    OBJECT = "OBJECT"
    NULL = "NULL"


class _Record:
    """An object that has whatever it was made with, and None for the rest."""

    def __init__(self, **fields: Any) -> None:
        vars(self).update(fields)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name.startswith("model_"):
            raise AttributeError(name)
        return None

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({fields})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]


class Schema(_Record):
    """A parameter's schema: `type`, `properties`, `items`, `enum`, `nullable`, `minimum`, …"""


class FunctionDeclaration(_Record):
    """What a model is told of a tool: `name`, `description`, `parameters`."""


class Blob(_Record):
    """Bytes and their `mime_type`."""


class Part(_Record):
    """A piece of content: `text` or `inline_data`."""

    @classmethod
    def from_bytes(cls, *, data: bytes, mime_type: str) -> "Part":
        """Make a part of bytes."""
        return cls(inline_data=Blob(data=data, mime_type=mime_type))

    @classmethod
    def from_text(cls, *, text: str) -> "Part":
        """Make a part of text."""
        return cls(text=text)


class Content(_Record):
    """A message: `role` and `parts`."""
