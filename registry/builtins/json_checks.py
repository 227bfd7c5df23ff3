"""Is it JSON, and does it fit a schema?"""

from config.lib.types import JsonObject
from registry.builtins import json_rules
from registry.builtins.definition import Builtin, guidance
from registry.builtins.json_queries import parsed
from registry.builtins.shapes import produced, record, text
from registry.errors import ToolInputRejected


def json_validate(arguments: JsonObject) -> JsonObject:
    """Return whether the document is JSON and fits the schema, with its problems."""
    try:
        document = parsed(arguments["document"])
    except ToolInputRejected as problem:
        return _answer([{"path": "$", "message": problem.message}])
    if not arguments["schema"].strip():
        return _answer([])
    try:
        schema = parsed(arguments["schema"])
    except ToolInputRejected as problem:
        reason = problem.message.replace("The document", "The schema")
        raise ToolInputRejected(reason, "Correct the schema there.") from None
    if not isinstance(schema, dict | bool):
        raise ToolInputRejected(
            "The schema is neither a JSON object nor true or false.", "Give a JSON Schema."
        )
    return _answer(json_rules.problems(schema, document))


def _answer(problems: list[JsonObject]) -> JsonObject:
    return {"valid": not problems, "problems": problems}


TOOLS = (
    Builtin(
        name="json_validate",
        title="Validate JSON",
        description=(
            "Check whether a text is well-formed JSON and, if a JSON Schema is given, whether it "
            "fits; the problems are listed with their places."
        ),
        category="data",
        input_schema=record(
            {
                "document": text("The JSON document as text.", limit=100_000),
                "schema": text("A JSON Schema as text; empty: none.", limit=20_000, default=""),
            },
            required=("document",),
        ),
        output_schema=record(
            {
                "valid": produced("boolean", "Whether it is valid."),
                "problems": produced("array", "The first 50: [{path, message}]."),
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
