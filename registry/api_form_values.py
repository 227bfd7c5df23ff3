"""Between what the form of an HTTP tool holds and the parts of its definition."""

import json
from collections.abc import Mapping
from typing import Any

from django import forms

from config.lib.types import JsonObject, JsonValue
from registry.api_definition import NO_INPUT
from registry.models import Tool
from registry.models.tool import Visibility


def initial_of(tool: Tool | None) -> JsonObject:
    """Return what the form holds before anything is typed."""
    definition = (tool.definition if tool else None) or {}
    body, auth = definition.get("body") or {}, definition.get("auth") or {}
    response = definition.get("response") or {}
    named = auth.get("usernameEnv")
    return {
        "name": tool.title if tool else "",
        "description": tool.description if tool else "",
        "input_schema": _pretty(tool.input_schema if tool else NO_INPUT),
        "required_scopes": tool.required_scopes if tool else [],
        "method": definition.get("method", "GET"),
        "url": definition.get("url", ""),
        "query": _lines(definition.get("query", {})),
        "headers": _lines(definition.get("headers", {})),
        "body_type": body.get("type", "none"),
        "body": _body_text(body),
        "content_type": body.get("contentType", ""),
        "auth_type": auth.get("type", "none"),
        "auth_env": auth.get("env", ""),
        "auth_username": f"${named}" if named else auth.get("username", ""),
        "auth_name": auth.get("name", ""),
        "auth_prefix": auth.get("prefix", ""),
        "response_path": response.get("path", ""),
        "success_status": " ".join(map(str, response.get("successStatus", ()))),
        "max_bytes": definition.get("maxBytes", 1_000_000),
        "timeout_seconds": definition.get("timeoutSeconds", 30),
        "visibility": tool.visibility if tool else Visibility.PRIVATE.value,
        "team": tool.team_id if tool else None,
    }


def pairs_of(text: str) -> dict[str, str]:
    """Return the `name: value` lines of a text; raise ValidationError for any other line."""
    pairs: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        name, colon, value = (part.strip() for part in line.partition(":"))
        if not line.strip():
            continue
        if not colon or not name:
            raise forms.ValidationError(f"Line {number} is not of the form name: value.")
        if name in pairs:
            raise forms.ValidationError(f"Line {number}: “{name}” stands there already.")
        pairs[name] = value
    return pairs


def json_of(text: str) -> JsonValue:
    """Return the JSON value of a text; raise ValidationError with the place of a slip."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise forms.ValidationError(
            f"This is not JSON: {error.msg} at line {error.lineno}, column {error.colno}."
        ) from None
    except (ValueError, RecursionError):
        raise forms.ValidationError("This is not JSON that can be read.") from None


def body_of(data: Mapping[str, Any], before: JsonObject) -> JsonObject | None:
    """Return the body that a valid form describes; of a multipart one the files stay."""
    if data["body_type"] == "none":
        return None
    body = {"type": data["body_type"], "value": data["body_value"]}
    if data["body_type"] in ("text", "binary") and data["content_type"]:
        body["contentType"] = data["content_type"]
    if data["body_type"] == "multipart":
        body["files"] = [name for name in before.get("files", ()) if name in data["body_value"]]
    return body


def auth_of(data: Mapping[str, Any]) -> JsonObject | None:
    """Return the sign-in that a valid form describes."""
    kind, user = data["auth_type"], data["auth_username"]
    match kind:
        case "none":
            return None
        case "oauth_caller":
            return {"type": kind}
        case "basic" if user.startswith("$"):
            return {"type": kind, "env": data["auth_env"], "usernameEnv": user[1:]}
        case "basic":
            return {"type": kind, "env": data["auth_env"], "username": user}
        case "header":
            named = {"name": data["auth_name"], "prefix": data["auth_prefix"]}
            return {"type": kind, "env": data["auth_env"], **named}
        case "query" | "cookie":
            return {"type": kind, "env": data["auth_env"], "name": data["auth_name"]}
        case _:
            return {"type": kind, "env": data["auth_env"]}


def _body_text(body: JsonObject) -> str:
    match body.get("type"):
        case "json":
            return _pretty(body["value"])
        case "form" | "multipart":
            return _lines(body["value"])
        case _:
            return str(body.get("value", ""))


def _lines(pairs: Mapping[str, str]) -> str:
    return "\n".join(f"{name}: {value}" for name, value in pairs.items())


def _pretty(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
