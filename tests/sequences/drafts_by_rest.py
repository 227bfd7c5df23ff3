"""Drafts of sequences as programs send them."""

from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from registry.models import Tool
from tests.rest.callers import by
from tests.sequences import workshop

API, JSON = "/api/v1", "application/json"
DRAFTS = f"{API}/drafts/"
SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
}


def definition_of(tool: Tool, **changes: Any) -> dict[str, Any]:
    mapping = {"text": {"source": "initialInput", "key": "text"}}
    step = {"key": "said", "inputMapping": mapping, "storeOutputAs": "said", **changes}
    return {"format": 1, "steps": [workshop.step(tool, 1, **step)]}


def fields_of(tool: Tool, **changes: Any) -> dict[str, Any]:
    return {
        "name": "Say it",
        "description": "Says it again.",
        "definition": definition_of(tool),
        "inputSchema": SCHEMA,
        **changes,
    }


class Caller:
    """Sends requests as one person, as JSON."""

    def __init__(self, user: User, *scopes: str) -> None:
        self._sent = by(user, *scopes)
        self._client = Client()

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        data = None if method == "get" else body if body is not None else {}
        sent = {"headers": {**self._sent["headers"], **headers}}
        return getattr(self._client, method)(path, data, content_type=JSON, **sent)


def begun(call: Caller, body: Any = None) -> Any:
    answer = call("post", DRAFTS, body)
    assert answer.status_code == 201, answer.content
    return answer.json()
