"""Fill the defaults of a schema into arguments, within limits of time and memory."""

import copy
from collections.abc import Mapping
from typing import Any

from config.lib.jsontext import size_of
from config.lib.types import JsonSchema, JsonValue
from registry.schema_rules import CheckTooSlowError, Deadline, lookup

MOST_BYTES = 1_000_000
"""Size as JSON of all defaults of one call: one default may go into each of many list items."""


class Defaults:
    """The defaults of one schema, for one call."""

    def __init__(self, root: JsonSchema, deadline: Deadline) -> None:
        self._root = root
        self._deadline = deadline
        self._room = MOST_BYTES

    def filled(self, schema: JsonValue, value: JsonValue, *, follow: bool = True) -> JsonValue:
        """Fill defaults into `value`, in place where it is an object.

        Inside a value that is itself a default no reference is followed (`follow` is false),
        because a schema that refers to itself would fill in for ever. Raises `CheckTooSlowError`
        when it takes too long or the defaults grow too large, and `Unresolvable`.
        """
        self._deadline.remaining()
        if not isinstance(schema, Mapping):
            return value
        if follow and isinstance(schema.get("$ref"), str):
            value = self.filled(lookup(self._root, schema["$ref"]), value)
        for part in schema.get("allOf", ()):
            value = self.filled(part, value, follow=follow)
        if isinstance(value, dict):
            for name, inner in schema.get("properties", {}).items():
                if name in value:
                    value[name] = self.filled(inner, value[name], follow=follow)
                elif isinstance(inner, Mapping) and "default" in inner:
                    value[name] = self.filled(inner, self._default(inner), follow=False)
        elif isinstance(value, list) and isinstance(schema.get("items"), Mapping):
            return [self.filled(schema["items"], item, follow=follow) for item in value]
        return value

    def _default(self, schema: JsonSchema) -> Any:
        self._room -= size_of(schema["default"])
        if self._room < 0:
            raise CheckTooSlowError
        return copy.deepcopy(schema["default"])
