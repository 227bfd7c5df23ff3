"""What a tool's schema takes of a model's context."""

import json
from hashlib import blake2b
from threading import Lock

from chat.llm import count_tokens
from chat.tool_schemas import model_schema
from config.lib.types import JsonObject
from registry.specs import ToolSpec

MOST_COUNTED = 50_000
"""Counts that a process remembers."""

_Key = tuple[str, str, str, str, bool] | tuple[str, bytes]
_counts: dict[_Key, int] = {}
_lock = Lock()


def tokens_of(model: str, spec: ToolSpec, *, guided: bool = False) -> int:
    """Return the tokens of a tool's schema as `model` counts them, `guided` as `model_schema` says.

    A version never changes, so it is counted once; its name and description may be an agent's own.
    """
    key = (model, spec.digest, spec.wire_name, spec.told, guided)
    if (known := _counts.get(key)) is not None:
        return known
    return _kept(key, tokens_of_schema(model, model_schema(spec, guided=guided)))


def tokens_of_schema(model: str, schema: JsonObject) -> int:
    """Return the tokens of a schema's JSON; how a provider packs it adds or saves a few.

    They are counted once: nearly all tools of a request were in the one before it.
    """
    return tokens_of_text(model, json.dumps(schema, ensure_ascii=False))


def tokens_of_text(model: str, text: str) -> int:
    """Return the tokens of a schema's JSON that was written already."""
    key = (model, blake2b(text.encode("utf-8", "replace"), digest_size=16).digest())
    known = _counts.get(key)
    return _kept(key, count_tokens(model, text)) if known is None else known


def _kept(key: _Key, counted: int) -> int:
    with _lock:
        if len(_counts) >= MOST_COUNTED:
            _counts.clear()
        _counts[key] = counted
    return counted
