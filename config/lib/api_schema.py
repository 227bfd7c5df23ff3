"""What the OpenAPI document says of every operation, so that no view need say it.

A view describes what it takes and what it answers when all goes well. From the view's class follow
the refusals that it may answer with, the scopes that it asks for, the conditions that it honours
and the headers that its answers have.
"""

import inspect
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent
from rest_framework import serializers
from rest_framework.permissions import SAFE_METHODS

from config.lib.api import CursorPages
from config.lib.api_bodies import MOST_VARIABLES, Body, VariablesField
from config.lib.api_conditional import WRITES
from config.lib.api_versions import deprecation_of
from config.lib.types import JsonObject

Document = dict[str, Any]

_TEXT: JsonObject = {"type": "string"}
_VALUES = ("array", "boolean", "number", "object", "string")
_ERROR: JsonObject = {
    "type": "object",
    "description": "The one shape of every error; docs/reference/errors.md lists the codes.",
    "properties": {
        "code": {"type": "string", "description": "What kind of thing went wrong."},
        "message": {"type": "string", "description": "What happened, in words."},
        "hint": {"type": "string", "description": "What to do next; may be empty."},
        "extra": {"type": "object", "description": "The facts.", "additionalProperties": {}},
    },
    "required": ["code", "message", "hint", "extra"],
    "additionalProperties": False,
}
HEADERS: dict[str, JsonObject] = {
    "API-Version": {"description": "The version that answers.", "schema": _TEXT},
    "X-Request-ID": {"description": "Names the request in logs and the audit.", "schema": _TEXT},
    "RateLimit-Policy": {
        "description": 'How many requests a minute are taken: `"api";q=3000;w=60`.',
        "schema": _TEXT,
    },
    "RateLimit": {
        "description": 'How many are left, and for how many seconds: `"api";r=2999;t=60`.',
        "schema": _TEXT,
    },
    "ETag": {"description": "Names this state of what is shown.", "schema": _TEXT},
    "Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}},
    "WWW-Authenticate": {"description": "How to sign in.", "schema": _TEXT},
    "Idempotent-Replayed": {
        "description": "The answer to the first request with this Idempotency-Key.",
        "schema": {"type": "string", "enum": ["true"]},
    },
    "Deprecation": {"description": "Since when it is deprecated (RFC 9745).", "schema": _TEXT},
    "Sunset": {"description": "When it ends at the earliest (RFC 8594).", "schema": _TEXT},
}
ALWAYS = ("API-Version", "X-Request-ID", "RateLimit-Policy", "RateLimit")

ANSWERS = {
    "304": "It is still as the ETag of If-None-Match says.",
    "400": "The request is not valid, or cannot be carried out.",
    "401": "Nobody is signed in, or the token is unknown, expired or revoked.",
    "403": "You may not do this, or the token lacks the scope.",
    "404": "There is no such thing, or you may not see it.",
    "406": "It cannot be answered in the form that Accept asks for.",
    "409": "Its state does not allow this, or it was changed meanwhile.",
    "412": "It was changed since it had the ETag of If-Match; nothing was written.",
    "413": "The body is too large.",
    "415": "The body has a media type that is not taken.",
    "422": "It is well-formed, but nothing can be made of it.",
    "424": "What it depends on, such as the model, did not answer.",
    "429": "Too many requests, or calls of this tool; Retry-After says when the next may come.",
}
PARAMETERS: dict[str, JsonObject] = {
    "IdempotencyKey": {
        "name": "Idempotency-Key",
        "in": "header",
        "description": "Any text. The same request with the same key, within a day, is carried "
        "out once and answered alike.",
        "schema": {"type": "string", "maxLength": 200},
    },
    "IfMatch": {
        "name": "If-Match",
        "in": "header",
        "description": "The ETag of what you read: it is written only if it is still so.",
        "schema": _TEXT,
    },
    "IfNoneMatch": {
        "name": "If-None-Match",
        "in": "header",
        "description": "The ETag of what you have: 304 if it is still so.",
        "schema": _TEXT,
    },
}


class ApiSchema(AutoSchema):
    """Describe an operation with all that the product adds to every view."""

    def get_operation(self, *args: Any, **kwargs: Any) -> Document | None:
        """Return the operation with what every one has in common."""
        operation = super().get_operation(*args, **kwargs)
        if operation is None:
            return None
        self.registry.register_on_missing(
            ResolvedComponent(  # type: ignore[no-untyped-call]
                name="Error", type=ResolvedComponent.SCHEMA, schema=_ERROR, object="Error"
            )
        )
        for parameter in operation.get("parameters", []):
            if parameter["in"] == "query" and not parameter.get("required"):
                parameter["schema"] = _or_empty(parameter["schema"])
        added = self._added_parameters(operation)
        if added:
            operation["parameters"] = [*operation.get("parameters", []), *map(_parameter, added)]
        for status, answer in operation["responses"].items():
            answer["headers"] = {**self._headers(status), **answer.get("headers", {})}
        for status in self._refusals(operation):
            operation["responses"].setdefault(status, _ref("responses", f"Answer{status}"))
        operation["responses"] = dict(sorted(operation["responses"].items()))
        if deprecation_of(self.view, self.method):
            operation["deprecated"] = True
        return operation

    def get_auth(self) -> list[Document]:
        """Return how to sign in, with the scopes that a token needs for this operation."""
        needed = getattr(self.view, "required_scopes", {}).get(self.method) or ()
        scopes = [needed] if isinstance(needed, str) else list(needed)
        told = super().get_auth()
        asked = [
            {name: scopes if name == "Bearer" else held for name, held in each.items()}
            for each in told
        ]
        if any("Bearer" in each for each in asked):
            asked.append({"OAuth2": scopes})
        return asked

    def _get_paginator(self) -> CursorPages | None:
        """Return what pages an answer of many things, where the view does page it."""
        called = getattr(inspect.unwrap(self._handler()), "__code__", None)
        pages = called is not None and "get_paginated_response" in called.co_names
        return CursorPages() if pages else None

    def _map_basic_serializer(self, serializer: Any, direction: str) -> Document:
        schema: Document = super()._map_basic_serializer(serializer, direction)  # type: ignore[no-untyped-call]
        if isinstance(serializer, Body):
            schema["additionalProperties"] = False
            if serializer.always:
                schema["required"] = sorted({*schema.get("required", ()), *serializer.always})
        return schema

    def _map_serializer_field(self, field: Any, direction: str, *args: Any) -> Document:
        schema: Document = super()._map_serializer_field(field, direction, *args)  # type: ignore[no-untyped-call]
        if _is_named(field) and direction == "request" and schema.get("type") == "string":
            schema.setdefault("pattern", r"\S")  # what is only blank is taken for empty
        if isinstance(field, VariablesField) and direction == "request":
            names = {"pattern": field.names}
            schema = {**schema, "propertyNames": names, "maxProperties": MOST_VARIABLES}
        if isinstance(field, serializers.DecimalField) and direction == "request":
            null = ["null"] if field.allow_null else []
            schema = {**schema, "type": ["string", "number", *null]}
        if isinstance(field, serializers.JSONField) and direction == "request" and not schema:
            schema = {} if field.allow_null else {"type": list(_VALUES)}
        is_list = isinstance(field, serializers.ListField | serializers.ListSerializer)
        if is_list and not field.allow_empty:
            schema = {**schema, "minItems": 1}
        if field.read_only and field.default is None and isinstance(schema.get("type"), str):
            schema = {**schema, "type": [schema["type"], "null"]}  # where there is nobody, say
        return schema

    def _handler(self) -> Any:
        return getattr(self.view, self.method.lower(), None)

    def _added_parameters(self, operation: Document) -> list[str]:
        added = []
        if getattr(self._handler(), "honours_idempotency_key", False):
            added.append("IdempotencyKey")
        if self._is_conditional():
            added.append("IfMatch")
        if self.method == "GET" and _is_json(operation):
            added.append("IfNoneMatch")
        return added

    def _is_conditional(self) -> bool:
        return self.method in WRITES and hasattr(self.view, "get")

    def _refusals(self, operation: Document) -> list[str]:
        statuses = ["400", "401", "403", "404", "406", "429"]
        if self.method not in SAFE_METHODS:
            statuses += ["409", "422", "424"]
        if "requestBody" in operation:
            statuses += ["413", "415"]
        if self._is_conditional():
            statuses.append("412")
        if self.method == "GET" and _is_json(operation):
            statuses.append("304")
        return statuses

    def _headers(self, status: str) -> Document:
        names = list(ALWAYS)
        if self.method == "GET" or (self.method in WRITES and self._is_conditional()):
            names.append("ETag")
        if getattr(self._handler(), "honours_idempotency_key", False):
            names.append("Idempotent-Replayed")
        if deprecation_of(self.view, self.method):
            names += ["Deprecation", "Sunset"]
        return {name: _ref("headers", name) for name in names}


def shared_parts(result: Document, **_: Any) -> Document:
    """Add the parts that operations refer to: a postprocessing hook."""
    _allow_null(result)
    parts = result["components"]
    parts["headers"] = HEADERS
    parts["parameters"] = PARAMETERS
    parts["responses"] = {f"Answer{status}": _answer(status) for status in ANSWERS}
    parts.setdefault("securitySchemes", {})["OAuth2"] = _oauth()
    return result


def _allow_null(part: Any) -> None:
    """Say `anyOf` of what may be null: null is also one of the values that are free (`{}`)."""
    if isinstance(part, list):
        for each in part:
            _allow_null(each)
    if isinstance(part, dict):
        for each in part.values():
            _allow_null(each)
        options = part.get("oneOf") or ()
        if {"type": "null"} in options or {"$ref": "#/components/schemas/NullEnum"} in options:
            part["anyOf"] = part.pop("oneOf")


def _answer(status: str) -> Document:
    names = list(ALWAYS)
    names += {"304": ["ETag"], "401": ["WWW-Authenticate"], "412": ["ETag"]}.get(status, [])
    names += ["Retry-After"] if status == "429" else []
    answer: Document = {
        "description": ANSWERS[status],
        "headers": {name: _ref("headers", name) for name in names},
    }
    if status != "304":
        answer["content"] = {"application/json": {"schema": _ref("schemas", "Error")}}
    return answer


def _oauth() -> Document:
    scopes = dict(import_string(settings.API_SCOPES))
    return {
        "type": "oauth2",
        "flows": {
            "authorizationCode": {
                "authorizationUrl": "/o/authorize/",
                "tokenUrl": "/o/token/",
                "refreshUrl": "/o/token/",
                "scopes": scopes,
            },
            "clientCredentials": {"tokenUrl": "/o/token/", "scopes": scopes},
        },
    }


def _or_empty(schema: Document) -> Document:
    """Say that an empty parameter counts as none."""
    schema.pop("minLength", None)
    schema.pop("pattern", None)
    is_free = schema.get("type") in ("string", "array") and not {"enum", "format"} & schema.keys()
    return schema if is_free else {"anyOf": [schema, {"type": "string", "maxLength": 0}]}


def _is_named(field: Any) -> bool:
    is_text = type(field) is serializers.CharField
    return is_text and not field.allow_blank and field.trim_whitespace


def _is_json(operation: Document) -> bool:
    return "application/json" in operation["responses"].get("200", {}).get("content", {})


def _ref(kind: str, name: str) -> Document:
    return {"$ref": f"#/components/{kind}/{name}"}


def _parameter(name: str) -> Document:
    return _ref("parameters", name)
