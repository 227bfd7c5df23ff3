"""JMESPath over JSON."""

import json
import math

from jmespath.exceptions import JMESPathError
from jmespath.parser import Parser

from config.lib.jsontext import size_of, storable
from config.lib.types import JsonObject, JsonValue
from registry.builtins.definition import Builtin, guidance
from registry.builtins.json_bounds import BoundedInterpreter, weighed
from registry.builtins.shapes import record, text
from registry.errors import ToolInputRejected

MOST_BYTES = 200_000
MOST_DIGITS = 1_000
SLIPS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What the library raises for some well-formed queries."""


def json_query(arguments: JsonObject) -> JsonObject:
    """Return what `query` selects from the document."""
    document = parsed(arguments["document"])
    try:
        query = Parser().parse(arguments["query"]).parsed
        result = storable(weighed(BoundedInterpreter().visit(query, document)))
        size = size_of(result)
    except RecursionError:
        raise ToolInputRejected(
            "The query or the document is nested too deeply.", "Use fewer levels."
        ) from None
    except (JMESPathError, *SLIPS) as problem:
        raise ToolInputRejected(
            f"The query could not be answered: {str(problem)[:300]}",
            "Use JMESPath, such as people[?age > `30`].name.",
        ) from None
    if size > MOST_BYTES:
        raise ToolInputRejected(
            f"The query selects {size:,} bytes; at most {MOST_BYTES:,} are returned.",
            "Select fewer fields, or a slice such as items[:20].",
        )
    return {"result": result}


def parsed(document: str) -> JsonValue:
    """Return the JSON value that a text spells, or raise ToolInputRejected with the place."""
    try:
        return json.loads(document, parse_constant=_refuse, parse_float=_finite, parse_int=_whole)
    except json.JSONDecodeError as problem:
        raise ToolInputRejected(
            f"The document is not JSON: {problem.msg} "
            f"at line {problem.lineno}, column {problem.colno}.",
            "Correct it there; json_validate lists what is wrong.",
        ) from None
    except RecursionError:
        raise ToolInputRejected(
            "The document is nested too deeply.", "Send the part of it that matters."
        ) from None
    except ValueError as problem:
        raise ToolInputRejected(
            f"The document is not JSON: {str(problem)[:200]}.", "Write the number differently."
        ) from None


def _refuse(constant: str) -> JsonValue:
    raise ValueError(f"{constant} is not a JSON number")


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a whole number has more than {MOST_DIGITS:,} digits")
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"the number {digits[:40]} is too large")
    return value


TOOLS = (
    Builtin(
        name="json_query",
        title="Query JSON",
        description="Select, filter and reshape values of a JSON document by a JMESPath query.",
        category="data",
        input_schema=record(
            {
                "document": text("The JSON document as text.", limit=500_000, at_least=1),
                "query": text(
                    "A JMESPath expression.",
                    limit=500,
                    at_least=1,
                    examples=["people[*].name", "length(items)"],
                ),
            }
        ),
        output_schema=record(
            {
                "result": {
                    "type": ["object", "array", "string", "number", "boolean", "null"],
                    "description": "What the query selects; null when there is nothing.",
                }
            }
        ),
        ai_agent=guidance(
            "When the user wants a value, a list or a filtered part out of JSON data.",
            "The document is given as text; it does not fetch anything.",
            'Get all the names from this JSON: {"people": [{"name": "Ada"}]}',
            "Which items in this JSON cost more than 10?",
            "Pick the field user.email out of this JSON document",
        ),
        run=json_query,
    ),
)
