"""Sequences that ask a person: what the suite's tools for elicitation are here."""

from __future__ import annotations

from django.contrib.auth.models import User

from config.lib.types import JsonObject
from registry.models import Tool
from tests import factories
from tests.sequences.workshop import fixed, sequence_of, step


def _text(*names: str) -> JsonObject:
    fields = {name: {"type": "string", "description": f"Their {name}."} for name in names}
    return {"type": "object", "properties": fields, "required": list(names)}


DEFAULTS: JsonObject = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {
            "type": "string",
            "enum": ["active", "inactive", "pending"],
            "default": "active",
        },
        "verified": {"type": "boolean", "default": True},
    },
}
OK: JsonObject = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}

ASKING: dict[str, dict[str, JsonObject]] = {
    "test_elicitation": {"person": _text("username", "email")},
    "test_elicitation_sep1034_defaults": {"person": DEFAULTS},
    "test_input_required_result_elicitation": {"user_name": _text("name")},
    "test_input_required_result_request_state": {"confirm": OK},
    "test_input_required_result_tampered_state": {"confirm": OK},
    "test_input_required_result_multi_round": {"step1": _text("name"), "step2": _text("color")},
}
"""What each asks, by the keys of its steps, and the forms of that."""


def asking_sequences(owner: User) -> dict[str, Tool]:
    """Make them; each ends with a step."""
    count = factories.make_builtin("count_text")
    end = step(count, inputMapping=fixed(text="answered"))
    return {name: _asking(owner, name, forms, end) for name, forms in ASKING.items()}


def _asking(owner: User, name: str, forms: dict[str, JsonObject], end: JsonObject) -> Tool:
    asks = [
        {
            "key": key,
            "approval": {"title": "What is it?", "message": "Say it.", "inputSchema": form},
        }
        for key, form in forms.items()
    ]
    return sequence_of(owner, *asks, end, wire_name=name)
