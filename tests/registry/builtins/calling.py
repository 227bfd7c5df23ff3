"""Call a built-in tool as the product does: validated, with its defaults filled in."""

from typing import Any

from config.lib.types import JsonObject
from registry.builtins import BUILTINS
from registry.schemas import validate_arguments


def run(tool: str, arguments: JsonObject) -> Any:
    """Return the tool's answer."""
    builtin = BUILTINS[tool]
    return builtin.run(validate_arguments(builtin.input_schema, arguments))
