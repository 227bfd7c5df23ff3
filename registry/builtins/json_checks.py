"""Is it JSON, and does it fit a schema?"""

import json

from config.lib.errors import DomainError
from config.lib.types import JsonObject
from registry import schemas
from registry.builtins.definition import Builtin, guidance
from registry.builtins.json_queries import parsed
from registry.builtins.shapes import produced, record, text
from registry.errors import InvalidArguments, ToolInputRejected


def json_validate(arguments: JsonObject) -> JsonObject:
    """Return whether the document is JSON and fits the schema, with every problem."""
    try:
        document = json.loads(arguments["document"])
    except json.JSONDecodeError as problem:
        place = f"line {problem.lineno}, column {problem.colno}"
        return _answer([{"path": "$", "message": f"Not JSON: {problem.msg} at {place}."}])
    except (ValueError, RecursionError):
        return _answer([{"path": "$", "message": "Not JSON: it is nested too deeply."}])
    if not arguments["schema"]:
        return _answer([])
    schema = parsed(arguments["schema"])
    if not isinstance(schema, dict):
        raise ToolInputRejected("The schema is not a JSON object.", "Give a JSON Schema.")
    return _answer(_problems(schema, document))


def _problems(schema: JsonObject, document: object) -> list[JsonObject]:
    # The document stands under one property, so that any JSON value can be checked.
    wrapped = {"type": "object", "properties": {"document": schema}}
    definitions = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
    try:
        schemas.validate_arguments({**wrapped, **definitions}, {"document": document})
    except InvalidArguments as error:
        return [
            {**problem, "path": problem["path"].replace("$.document", "$", 1)}
            for problem in error.extra["problems"]
        ]
    except DomainError as error:
        raise ToolInputRejected(f"The schema cannot be used: {error.message}") from None
    return []


def _answer(problems: list[JsonObject]) -> JsonObject:
    return {"valid": not problems, "problems": problems}


TOOLS = (
    Builtin(
        name="json_validate",
        title="Validate JSON",
        description=(
            "Check whether a text is well-formed JSON and, if a JSON Schema is given, whether it "
            "fits; every problem is listed with its place."
        ),
        category="data",
        input_schema=record(
            {
                "document": text("The JSON document as text.", limit=500_000),
                "schema": text("A JSON Schema as text; empty: none.", limit=50_000, default=""),
            },
            required=("document",),
        ),
        output_schema=record(
            {
                "valid": produced("boolean", "Whether it is valid."),
                "problems": produced("array", "[{path, message}]."),
            }
        ),
        ai_agent=guidance(
            "When the user asks whether JSON is valid, well-formed or fits a schema.",
            "References to other documents are not followed.",
            "Is this valid JSON?",
            "Check this document against my JSON schema",
            "What is wrong with this JSON: {'a': 1}",
        ),
        run=json_validate,
    ),
)
