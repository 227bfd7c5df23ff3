"""Characters that models read and people do not see: taken out of what strangers say of tools."""

from collections.abc import Iterable

from config.lib.types import JsonObject, JsonValue
from config.lib.unseen import UNSEEN as UNSEEN_CHARACTERS
from registry.sandbox.contract import ToolDescription

UNSEEN = "unseen"
"""Code of the finding that a tool's description held such characters."""


def without_unseen(value: JsonValue) -> JsonValue:
    """Return a value without the characters that nobody sees, in keys too."""
    match value:
        case str():
            return UNSEEN_CHARACTERS.sub("", value)
        case dict():
            return {
                UNSEEN_CHARACTERS.sub("", key): without_unseen(item) for key, item in value.items()
            }
        case list():
            return [without_unseen(item) for item in value]
        case _:
            return value


def unseen_findings(tools: Iterable[ToolDescription]) -> list[JsonObject]:
    """Return a finding for each described tool that says something unseen."""
    return [
        unseen_finding(tool.export)
        for tool in tools
        if (said := [tool.description, tool.input_schema, tool.output_schema])
        != without_unseen(said)
    ]


def unseen_finding(name: str) -> JsonObject:
    """Return the finding for one tool: `{code, path, message}`."""
    return {
        "code": UNSEEN,
        "path": name,
        "message": "Its description held characters that people cannot see but models read; they "
        "were taken out. Read it with care before you approve it.",
    }
