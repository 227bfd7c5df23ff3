"""The scopes that the steps of many sequences require now, read for all of them at once."""

from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

from django.db import connection

from config.lib.ids import uuid_in
from config.lib.types import JsonValue
from registry.models import ToolVersion
from registry.models.tool import ToolKind

Key = tuple[UUID, int]
"""A sequence at one version."""

Calls = tuple[tuple[UUID, int | None], ...]
"""What a sequence calls: tools, at a version or as they are."""


class _Fact(NamedTuple):
    version: int
    kind: str
    scopes: tuple[str, ...]


_calls: dict[Key, Calls] = {}
_MOST_KEPT = 100_000


def step_scopes(sequences: Collection[Key]) -> dict[Key, frozenset[str]]:
    """Return what `registry.effects.scopes_within` says, for many sequences in a few queries."""
    facts: dict[UUID, _Fact] = {}
    inside: dict[Key, Calls] = {}
    waiting = set(sequences)
    while waiting:
        inside |= _called_by(waiting)
        ids = {tool_id for key in waiting for tool_id, _ in inside[key]}
        facts |= _facts(ids - facts.keys())
        waiting = {
            (tool_id, version or facts[tool_id].version)
            for key in waiting
            for tool_id, version in inside[key]
            if tool_id in facts and facts[tool_id].kind == ToolKind.SEQUENCE
        } - inside.keys()
    return {key: frozenset(_collected(key, inside, facts)) for key in sequences}


def _collected(root: Key, inside: dict[Key, Calls], facts: dict[UUID, _Fact]) -> Iterator[str]:
    seen, waiting = {root}, [root]
    while waiting:
        for tool_id, version in inside[waiting.pop()]:
            fact = facts.get(tool_id)
            if fact is None:
                continue
            yield from fact.scopes
            key = (tool_id, version or fact.version)
            if fact.kind == ToolKind.SEQUENCE and key not in seen:
                seen.add(key)
                waiting.append(key)


def _called_by(sequences: Collection[Key]) -> dict[Key, Calls]:
    """Return what these call. A version never changes, so what was read once is kept."""
    if missing := [key for key in sequences if key not in _calls]:
        if len(_calls) > _MOST_KEPT:
            _calls.clear()
        rows = ToolVersion.objects.filter(
            tool_id__in={key[0] for key in missing}, number__in={key[1] for key in missing}
        ).values_list("tool_id", "number", "snapshot__definition__steps")
        read = {(tool_id, number): _steps(steps) for tool_id, number, steps in rows}
        _calls.update({key: read[key] for key in missing if key in read})
        return {key: _calls.get(key, read.get(key, ())) for key in sequences}
    return {key: _calls.get(key, ()) for key in sequences}


def _steps(steps: JsonValue) -> Calls:
    called = {
        (id_, step.get("toolVersion"))
        for step in (steps if isinstance(steps, list) else [])
        if isinstance(step, dict)
        and not step.get("disabled")
        and (id_ := uuid_in(step.get("toolToRunId")))
    }
    return tuple(called)


def _facts(ids: Collection[UUID]) -> dict[UUID, _Fact]:
    if not ids:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, version, kind, required_scopes FROM registry_tool"
            " WHERE id = ANY(%s) AND deleted_at IS NULL",
            [list(ids)],
        )
        return {row[0]: _Fact(row[1], row[2], _shared(tuple(row[3]))) for row in cursor.fetchall()}


@lru_cache(maxsize=10_000)
def _shared(scopes: tuple[str, ...]) -> tuple[str, ...]:
    return scopes
