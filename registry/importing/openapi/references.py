"""Follow `$ref` within one document; nothing is ever fetched."""

from typing import Any
from urllib.parse import unquote

from config.lib.types import JsonObject, JsonValue

MOST_STEPS = 20
"""References that lead to one another."""


class CannotTakeError(Exception):
    """An operation that cannot become a tool: `path` is the place in the document, `why` words."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path}: {why}")
        self.path = path
        self.why = why


class References:
    """The targets of a document's references."""

    def __init__(self, document: JsonObject) -> None:
        self.document = document

    def target(self, reference: JsonValue, path: str) -> Any:
        """Return what `reference` (at the place `path`) points to; raise CannotTakeError."""
        if not isinstance(reference, str):
            raise CannotTakeError(f"{path}.$ref", "A reference must be text.")
        if not reference.startswith("#"):
            raise CannotTakeError(
                f"{path}.$ref",
                f"“{reference[:120]}” is in another document, which is not fetched. "
                "Bundle the documents into one.",
            )
        found: Any = self.document
        for part in reference[1:].split("/")[1:]:
            key = _unescaped(part)
            if isinstance(found, dict) and key in found:
                found = found[key]
            elif isinstance(found, list) and key.isdigit() and int(key) < len(found):
                found = found[int(key)]
            else:
                raise CannotTakeError(f"{path}.$ref", f"“{reference[:120]}” is not there.")
        if reference != "#" and not reference.startswith("#/"):
            raise CannotTakeError(f"{path}.$ref", f"“{reference[:120]}” is not there.")
        return found

    def followed(self, node: JsonValue, path: str) -> JsonObject:
        """Return the object that `node` is, or that its references lead to."""
        for _ in range(MOST_STEPS):
            if not isinstance(node, dict):
                raise CannotTakeError(path, "This must be an object.")
            if "$ref" not in node:
                return node
            siblings = {key: value for key, value in node.items() if key != "$ref"}
            found = self.target(node["$ref"], path)
            node = {**found, **siblings} if isinstance(found, dict) else found
        raise CannotTakeError(f"{path}.$ref", "The references go round in a circle.")


def name_of(reference: str) -> str:
    """Return the last part of a reference: `Pet` of `#/components/schemas/Pet`."""
    return _unescaped(reference.rsplit("/", 1)[-1])


def _unescaped(part: str) -> str:
    return unquote(part).replace("~1", "/").replace("~0", "~")
