"""Static values as they are typed, and as the definition has them."""

import json
from typing import TypeGuard

from config.lib.types import JsonValue
from registry.errors import InvalidArguments
from registry.schema_forms import FormField, arguments_from_form, texts_from_lines

_NONE = object()
"""Stands for what is not JSON."""


def static_from_text(text: str, field: FormField | None) -> JsonValue:
    """Return the value that was typed for an input of this type.

    Text that does not fit the type stays text: the check of the sequence then says what the input
    must be. Where the type is not known, JSON is taken as JSON and everything else as text.
    """
    if field is not None and field.type == "string" and not field.enum:
        return text
    if field is not None and field.lines and text.strip() and not text.lstrip().startswith("["):
        return list(texts_from_lines(text))
    if field is None or field.type == "json":
        return _json_or_text(text)
    schema = {"type": field.type, "enum": list(field.enum)} if field.enum else {"type": field.type}
    try:
        sent = arguments_from_form({"properties": {"value": schema}}, {"value": text})
    except InvalidArguments:
        return text
    return sent["value"] if text.strip() else text


def text_from_static(value: JsonValue, field: FormField | None) -> str:
    """Return a stored value as it is typed, so that `static_from_text` gives it back."""
    if field is not None and field.lines and _fits_lines(value):
        return "\n".join(value)
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    typed = field is not None and field.type != "json"
    return value if typed or _json_or_text(value) is value else json.dumps(value)


def _fits_lines(value: JsonValue) -> TypeGuard[list[str]]:
    """Tell whether a list is the same after it was typed one text a line."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return False
    text = "\n".join(value)
    return texts_from_lines(text) == value != [] and not text.startswith("[")


def _json_or_text(text: str) -> JsonValue:
    read = _json(text)
    return text if read is _NONE else read


def _json(text: str) -> JsonValue:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _NONE
