"""Check a document against a JSON Schema that somebody else wrote, within a time limit."""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

from referencing.exceptions import Unresolvable

from config.lib.types import JsonObject, JsonValue
from registry.builtins import matching
from registry.errors import ToolInputRejected
from registry.pattern_limits import PatternRefusedError
from registry.schema_messages import describe
from registry.schema_rules import (
    UNSUPPORTED,
    CheckTooSlowError,
    Deadline,
    PatternTooSlowError,
    Rules,
    draft_of,
)

SECONDS = 0.8
MOST_PROBLEMS = 50
LONGEST_MESSAGE = 500
MOST_REFERENCES = 100


def problems(schema: JsonObject | bool, document: JsonValue) -> list[JsonObject]:
    """Return the first problems of `document` as `{path, message}`; empty when it fits.

    Raises `ToolInputRejected` when the schema is not one, or when the check takes too long.
    """
    rules = Rules(Deadline(SECONDS), matching.SECONDS)
    draft = draft_of(schema)
    try:
        defects = _first(rules, draft, draft.META_SCHEMA, schema)
        if not defects:
            _refuse_unsupported(rules, schema)
            return _first(rules, draft, schema, document)
    except CheckTooSlowError:
        raise ToolInputRejected(
            "The check takes too long and was stopped.",
            "Use a simpler schema, or a smaller document.",
        ) from None
    except PatternTooSlowError:
        raise matching.too_slow() from None
    except PatternRefusedError as problem:
        raise matching.refused(problem) from None
    except Unresolvable as problem:
        raise ToolInputRejected(
            f"The schema refers to {str(problem.ref)[:200]!r}, which it does not contain.",
            "Put the definition into the schema itself, under $defs: nothing is fetched.",
        ) from None
    except RecursionError:
        raise ToolInputRejected(
            "The schema or the document is nested too deeply, or the schema refers to itself "
            "without end.",
            "Use fewer levels.",
        ) from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        # A reference may lead to something that is not a schema, which the library trips over.
        raise ToolInputRejected(
            "The schema cannot be used on this document.", "Check where its references lead."
        ) from None
    first = defects[0]
    raise ToolInputRejected(
        f"The schema is not a JSON Schema: {first['path']} {first['message']}.", "Correct it there."
    )


def _first(rules: Rules, draft: Any, schema: Any, document: JsonValue) -> list[JsonObject]:
    """Return the first problems of `document` as `{path, message}`."""
    errors = rules.validator(draft, schema).iter_errors(document)
    return [
        {"path": error.json_path, "message": describe(error)[:LONGEST_MESSAGE]}
        for error in islice(errors, MOST_PROBLEMS)
    ]


def _refuse_unsupported(rules: Rules, schema: JsonValue) -> None:
    written = json.dumps(schema)
    if written.count('"$ref"') > MOST_REFERENCES:
        raise ToolInputRejected(
            f"The schema has more than {MOST_REFERENCES} references.",
            "Check a part of the document against a part of the schema.",
        )
    for pattern in _patterns(schema):
        rules.pattern(pattern)
    for keyword in UNSUPPORTED:
        if f'"{keyword}"' in written:
            raise ToolInputRejected(
                f"{keyword} is not supported.", "Use additionalProperties or items instead."
            )


def _patterns(node: JsonValue) -> Iterator[str]:
    """Yield the patterns of a schema, so that also one that is not reached is checked."""
    if isinstance(node, dict):
        if isinstance(node.get("pattern"), str):
            yield node["pattern"]
        if isinstance(node.get("patternProperties"), dict):
            yield from node["patternProperties"]
    inner = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    for part in inner:
        yield from _patterns(part)
