"""What files that are taken out and brought in have in common: strict parts, and what is wrong."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from config.lib.types import JsonObject, JsonValue

MOST_PROBLEMS = 20
TOLD = 3
"""Problems that a message tells; `extra` lists up to `MOST_PROBLEMS`."""

Text = Annotated[str, Field(max_length=20_000)]
Short = Annotated[str, Field(max_length=300)]


class DocumentPart(BaseModel):
    """A part of a document; what is not known is refused."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="forbid", strict=True
    )


def problems_of(error: ValidationError) -> tuple[str, list[JsonObject]]:
    """Return what is wrong with a document, in words and as `[{path, message}]`."""
    problems: list[JsonObject] = [
        {
            "path": ".".join(["$", *map(str, problem["loc"])])[:200],
            "message": f"{problem['msg'].removeprefix('Value error, ').rstrip('.')}.",
        }
        for problem in error.errors(include_url=False, include_input=False)[:MOST_PROBLEMS]
    ]
    return "; ".join(f"{each['path']}: {each['message']}" for each in problems[:TOLD]), problems


def is_deep(value: JsonValue, deepest: int) -> bool:
    """Tell whether objects and lists stand in one another more than `deepest` deep."""
    level: list[Any] = [value]
    for _ in range(deepest):
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return False
    return True
