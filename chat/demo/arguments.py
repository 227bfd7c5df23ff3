"""Fill in a tool's arguments from a message, by the tool's input schema."""

import re
from dataclasses import dataclass, field
from typing import Any

from chat.demo.payload import Payload
from chat.tool_schemas import EXAMPLES
from config.lib.types import JsonObject, JsonSchema, JsonValue
from registry.search.tokens import tokenize

_ZONE_NAME = re.compile(r"zone|city|location|place|country", re.IGNORECASE)
_URL_NAME = re.compile(r"ur[li]|link|href|website", re.IGNORECASE)
_SUM_NAME = re.compile(r"expression|formula|calculation|equation", re.IGNORECASE)
_DATE_NAME = re.compile(r"date|^day$|since|until|start|end|from|to", re.IGNORECASE)
_UNIT_NAME = re.compile(r"unit|currency|^from$|^to$", re.IGNORECASE)


def arguments_for(
    schema: JsonSchema, said: str, tool: str = "", description: str = ""
) -> JsonObject:
    """Return arguments for `schema` from the words of a message.

    Required fields come first, so that what the message gives goes to them; an optional one is
    filled only where the message speaks of it. What cannot be found is left out: the tool's own
    check then says what is missing.
    """
    properties: dict[str, Any] = schema.get("properties") or {}
    required = [name for name in schema.get("required") or () if name in properties]
    filling = _Filling(Payload(said, tool, _words_of(schema, tool, description)))
    arguments: JsonObject = {}
    for name in sorted(properties, key=lambda name: name not in required):
        spec = properties[name] if isinstance(properties[name], dict) else {}
        value = filling.value(name, spec, needed=name in required)
        if value is not None:
            arguments[name] = value
    return {name: arguments[name] for name in properties if name in arguments}


def _words_of(schema: JsonSchema, tool: str, description: str) -> frozenset[str]:
    """Return the words that say what the tool does, which are never its input."""
    options = [
        str(option)
        for spec in (schema.get("properties") or {}).values()
        if isinstance(spec, dict)
        for option in spec.get("enum") or ()
    ]
    purpose = description.partition(EXAMPLES)[0]
    return frozenset(tokenize(" ".join([tool, purpose, *options])))


@dataclass
class _Filling:
    """Takes values out of one message, each only once."""

    payload: Payload
    rest_used: bool = field(default=False)

    def value(self, name: str, spec: JsonSchema, *, needed: bool) -> JsonValue:
        """Return a value for one field, or None where the message has none."""
        kind = _kind(spec)
        if isinstance(options := spec.get("enum"), list):
            return self._option(options, spec, needed=needed)
        if kind == "boolean":
            return self.payload.yes_or_no(name)
        if given := self.payload.named(name):
            return _converted(given, kind)
        if kind in {"integer", "number"}:
            number = self.payload.number(name, needed=needed)
            return int(number) if number is not None and kind == "integer" else number
        if kind == "array":
            return self.payload.items(_kind(spec.get("items") or {})) if needed else None
        if kind == "object":
            return self.payload.json_value(dict) if needed else None
        if kind == "string":
            return self._text(name, spec, needed=needed)
        value = self.payload.json_value((dict, list)) if needed else None
        return value if value is not None or not needed else self._text(name, spec, needed=True)

    def _option(self, options: list[Any], spec: JsonSchema, *, needed: bool) -> JsonValue:
        chosen = self.payload.one_of(options)
        if chosen is None and needed and "default" not in spec and options:
            return options[0]
        return chosen

    def _text(self, name: str, spec: JsonSchema, *, needed: bool) -> JsonValue:
        if _URL_NAME.search(name) or spec.get("format") == "uri":
            return self.payload.url()
        if _SUM_NAME.search(name) and (expression := self.payload.expression()):
            return expression
        if _ZONE_NAME.search(name) and (place := self.payload.place()):
            return place
        if (_DATE_NAME.search(name) or spec.get("format") in {"date", "date-time"}) and (
            date := self.payload.date()
        ):
            return date
        if _UNIT_NAME.search(name) and (unit := self.payload.unit(name)):
            return unit
        if not needed:
            return None
        if (quoted := self.payload.quoted(name)) is not None:
            return quoted
        if self.rest_used:
            return spec.get("default")
        self.rest_used = True
        return self.payload.rest()


def _kind(spec: JsonSchema) -> str:
    kind = spec.get("type")
    if isinstance(kind, list):
        kind = next((item for item in kind if item != "null"), "string")
    if kind is None:
        for choice in (*(spec.get("anyOf") or ()), *(spec.get("oneOf") or ())):
            if isinstance(choice, dict) and choice.get("type") not in {None, "null"}:
                return str(choice["type"])
        return "any" if "enum" not in spec else "string"
    return str(kind)


def _converted(text: str, kind: str) -> JsonValue:
    if kind in {"integer", "number"}:
        try:
            return int(text) if kind == "integer" else float(text)
        except ValueError:
            return text
    return [text] if kind == "array" else text
