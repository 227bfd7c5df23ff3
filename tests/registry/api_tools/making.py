"""Make HTTP tools for tests."""

from typing import Any

from django.contrib.auth.models import User

from registry.api_tools import ApiFields, api_tool_save, new_api_tool
from registry.models import Tool

CITY = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "region": {"type": "string", "enum": ["eu", "us"]},
        "note": {},
    },
    "additionalProperties": False,
}


def fields_of(definition: Any, schema: Any = CITY, **more: Any) -> ApiFields:
    """Return the fields of a valid tool, some of them changed."""
    values = {
        "name": "Weather",
        "description": "Tells the weather of a city.",
        "visibility": "private",
        "definition": definition,
        "input_schema": schema,
    }
    return ApiFields(**{**values, **more})


def make_api_tool(owner: User, definition: Any, schema: Any = CITY, **more: Any) -> Tool:
    """Save an HTTP tool."""
    return api_tool_save(
        new_api_tool(owner), author=owner, fields=fields_of(definition, schema, **more)
    )
