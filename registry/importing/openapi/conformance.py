"""Tell where operations differ from the OpenAPI specification, though they can be used."""

import time
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from jsonschema import Draft4Validator, Draft202012Validator, ValidationError
from jsonschema.exceptions import best_match
from openapi_spec_validator.schemas import schema_v30, schema_v31

from config.lib.types import JsonObject
from registry.importing.errors import DocumentProblem
from registry.importing.openapi.document import place
from registry.importing.openapi.operations import Operation

SECONDS = 10.0
"""For how long operations are looked at; the look is a help, not a condition."""

MOST_TOLD = 50
LONGEST_MESSAGE = 200


def deviations(document: JsonObject, operations: Iterable[Operation]) -> Iterator[DocumentProblem]:
    """Yield at most one problem for each operation, the most telling one."""
    until, told = time.monotonic() + SECONDS, 0
    validator = _validator(document["openapi"].startswith("3.0"))
    for operation in operations:
        if told >= MOST_TOLD or time.monotonic() > until:
            return
        item = document["paths"][operation.path]
        given = item.get(operation.method) if isinstance(item, dict) else None
        error = best_match(validator.iter_errors(given)) if isinstance(given, dict) else None
        if error is not None:
            told += 1
            yield _problem(operation, error)


def _problem(operation: Operation, error: ValidationError) -> DocumentProblem:
    where = place("paths", operation.path, operation.method, *error.absolute_path)
    return DocumentProblem(where, error.message[:LONGEST_MESSAGE])


@cache
def _validator(is_30: bool) -> Any:
    if is_30:
        schema = {"definitions": schema_v30["definitions"], "$ref": "#/definitions/Operation"}
        return Draft4Validator(schema)
    parts = {key: schema_v31[key] for key in ("$id", "$schema", "$defs")}
    return Draft202012Validator({**parts, "$ref": "#/$defs/operation"})
