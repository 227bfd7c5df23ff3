"""What is told of one tool, as JSON that is made once and kept until the tool's row changes."""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import F, Func, TextField

from config.lib.types import JsonObject
from registry.models.triggers import STATE
from registry.specs import ToolSpec

PLACE = "/api/v1/discovery/tools/"
"""Where tools are called by their names."""

TAKEN = frozenset({"register"})
"""Names that mean something else at `PLACE`; tools with one are called by their ids."""

MOST_KEPT = 96_000_000
"""Bytes of made JSON that a process keeps: about 100,000 tools of usual size."""

_STAMP = "(t.id::text || ' ' || t.xmin::text || ' ' || t.cmin::text || t.ctid::text)"


class Stamp(Func):
    """The id of a tool and which state of its row this is, as one text.

    Every write makes a new state with other system columns, whatever wrote it; so what is kept
    under a stamp needs no invalidation.
    """

    template = _STAMP.replace("t.", '"registry_tool".')
    output_field = TextField()

    def __init__(self) -> None:
        super().__init__(F("pk"))


@dataclass(frozen=True, kw_only=True)
class Told:
    """The facts that an entry is made of; schemas are JSON texts, `output_schema` may be null."""

    id: UUID
    name: str
    title: str
    description: str
    kind: str
    version: int
    health: str
    scopes: tuple[str, ...]
    parameters: str
    input_schema: str
    output_schema: str
    returns: str


@dataclass(slots=True)
class Entry:
    """What is told of one tool. `scopes` are its own; a sequence's steps may need more."""

    id: UUID
    name: str
    kind: str
    version: int
    scopes: tuple[str, ...]
    head: bytes
    tail: bytes
    _made: tuple[tuple[str, ...], bytes, bytes] | None = field(default=None)

    def made(self, scopes: tuple[str, ...]) -> tuple[bytes, bytes]:
        """Return the JSON with all the scopes that a call takes, and its digest."""
        made = self._made
        if made is None or made[0] != scopes:
            text = b"%b%b%b" % (self.head, _listed(scopes), self.tail)
            made = self._made = (scopes, text, blake2b(text, digest_size=16).digest())
        return made[1], made[2]

    @property
    def size(self) -> int:
        """Return about how many bytes it takes, with its JSON made."""
        return 2 * (len(self.head) + len(self.tail)) + 400


class _Kept:
    """Entries by stamp. When they are too many, it begins anew: nothing here is ever wrong."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self._size = 0

    def put(self, stamp: str, entry: Entry) -> None:
        if self._size > MOST_KEPT:
            self.entries, self._size = {}, 0
        self.entries[stamp] = entry
        self._size += entry.size


_kept = _Kept()


def entries_of(stamps: Sequence[str]) -> list[Entry]:
    """Return what is told of the tools with these stamps, in their order, with one query at most.

    A tool that was changed since its stamp was read is told as it is now; one that is gone is
    left out.
    """
    known = _kept.entries
    missing = [stamp for stamp in stamps if stamp not in known]
    if not missing:
        return [known[stamp] for stamp in stamps]
    fresh: dict[str, Entry] = {}
    by_id: dict[str, Entry] = {}
    for stamp, entry in _read([stamp[:36] for stamp in missing]):
        _kept.put(stamp, entry)
        fresh[stamp] = by_id[stamp[:36]] = entry
    told = (known.get(stamp) or fresh.get(stamp) or by_id.get(stamp[:36]) for stamp in stamps)
    return [entry for entry in told if entry is not None]


def entry_of(told: Told, *, agent: str = "") -> Entry:
    """Make an entry; called as `agent` where one is named."""
    called = str(told.id) if told.name in TAKEN else told.name
    asked = f"?agent={agent}" if agent else ""
    head = {"name": told.name, "endpoint": f"{PLACE}{called}/{asked}"}
    tail = {
        "description": told.description,
        "returns": told.returns,
        "id": str(told.id),
        "title": told.title,
        "version": told.version,
        "kind": told.kind,
        "health": told.health,
    }
    raw = (
        f', "parameters": {told.parameters}, "inputSchema": {told.input_schema}, '
        f'"outputSchema": {told.output_schema}}}'
    )
    return Entry(
        id=told.id,
        name=told.name,
        kind=told.kind,
        version=told.version,
        scopes=told.scopes,
        head=_text(head)[:-1] + b', "scopes": ',
        tail=b", " + _text(tail)[1:-1] + raw.encode(),
    )


def told_of(spec: ToolSpec, *, health: str, scopes: Iterable[str]) -> Told:
    """Return what is told of a tool at one version, under the name that an agent knows it by."""
    output = spec.output_schema or {}
    return Told(
        id=spec.tool_id,
        name=spec.wire_name,
        title=spec.title,
        description=spec.description,
        kind=spec.kind,
        version=spec.version,
        health=health,
        scopes=tuple(sorted(scopes)),
        parameters=json.dumps(spec.input_schema.get("properties", {}), ensure_ascii=False),
        input_schema=json.dumps(spec.input_schema, ensure_ascii=False),
        output_schema=json.dumps(spec.output_schema, ensure_ascii=False),
        returns=_returns(*(output.get(key) for key in ("description", "title", "type"))),
    )


def _returns(description: Any, title: Any, kind: Any) -> str:
    """Say in words what a tool returns, as far as its output schema tells."""
    return next((told for told in (description, title, kind) if isinstance(told, str) and told), "")


def _text(value: JsonObject) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


@lru_cache(maxsize=10_000)
def _listed(scopes: tuple[str, ...]) -> bytes:
    return json.dumps(scopes).encode()


_SQL = f"""
SELECT {_STAMP}, t.id, t.wire_name, t.title, t.description, t.kind, t.version,
    {STATE.format(row="t")}, t.required_scopes,
    coalesce(t.input_schema->'properties', '{{}}')::text, t.input_schema::text,
    coalesce(t.output_schema, 'null')::text, t.output_schema->>'description',
    t.output_schema->>'title', t.output_schema->>'type'
FROM registry_tool t WHERE t.id = ANY(%s::uuid[]) AND t.deleted_at IS NULL
"""  # noqa: S608 - own names only


def _read(ids: Collection[str]) -> Iterable[tuple[str, Entry]]:
    with connection.cursor() as cursor:
        cursor.execute(_SQL, [list(ids)])
        for row in cursor.fetchall():
            stamp, id_, name, title, description, kind, version, health, scopes, *texts = row
            parameters, input_schema, output_schema, *output = texts
            told = Told(
                id=id_,
                name=name,
                title=title,
                description=description,
                kind=kind,
                version=version,
                health=health,
                scopes=tuple(sorted(scopes)),
                parameters=parameters,
                input_schema=input_schema,
                output_schema=output_schema,
                returns=_returns(*output),
            )
            yield stamp, entry_of(told)
