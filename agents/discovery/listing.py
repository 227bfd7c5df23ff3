"""What an audience is told, in pages, with a stamp that says whether anything has changed."""

import base64
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from heapq import merge
from itertools import islice
from operator import attrgetter

from agents.discovery.audience import Audience
from agents.discovery.entries import Entry, Stamp, entries_of
from agents.discovery.step_scopes import step_scopes
from config.lib.errors import InvalidInput
from config.lib.types import JsonObject
from registry.models.tool import LETTERS, ToolKind

MOST_TOLD = 10_000
"""Tools of one answer; what is left of a longer list is behind its `next`."""

SERVICE, PROTOCOL = "Outfitter Tool Discovery", "MCP"

_CHUNK = 1_000
"""Tools that are read at a time at least, where some are left out."""

Found = tuple[Entry, tuple[str, ...]]
"""A tool, and all the scopes that a call of it takes."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """Some of the list, in the order of the names. `next` is empty where nothing follows."""

    found: list[Found]
    next: str

    @property
    def version(self) -> str:
        """Return a text that is another one as soon as anything told here has changed."""
        whole = blake2b(self.next.encode(), digest_size=16)
        whole.update(b"".join([entry.made(scopes)[1] for entry, scopes in self.found]))
        return whole.hexdigest()

    def as_json(self) -> bytes:
        """Return the page as the REST API tells it."""
        told = b",\n".join([entry.made(scopes)[0] for entry, scopes in self.found])
        return b'%b, "tools": [%b]}' % (self._head(changed=True), told)

    def unchanged_json(self) -> bytes:
        """Return what is told to whoever has this very page."""
        return b'%b, "tools": []}' % self._head(changed=False)

    def as_text(self) -> str:
        """Return the page as a model reads it in a prompt."""
        if not self.found:
            return "No tools are available.\n"
        lines = [_line(json.loads(entry.made(scopes)[0])) for entry, scopes in self.found]
        return "\n".join(["Available tools:", *lines, ""])

    def _head(self, *, changed: bool) -> bytes:
        head = {
            "service": SERVICE,
            "protocol": PROTOCOL,
            "version": self.version,
            "changed": changed,
            "next": self.next or None,
        }
        return json.dumps(head, ensure_ascii=False).encode()[:-1]


def page_of(audience: Audience, *, limit: int = MOST_TOLD, cursor: str = "") -> Page:
    """Return at most `limit` tools after `cursor`; raise InvalidInput for a cursor of others."""
    walk = _walk(audience, after=_name_in(cursor), chunk=limit + 1)
    found = list(islice(walk, limit + 1))
    more = len(found) > limit
    del found[limit:]
    return Page(found=found, next=_cursor(found[-1][0].name) if more else "")


def stats_of(audience: Audience) -> JsonObject:
    """Count all tools that an audience is told of, and by each scope that calls take."""
    names: list[str] = []
    usage: Counter[str] = Counter()
    for entry, scopes in _walk(audience, after="", chunk=MOST_TOLD):
        names.append(entry.name)
        usage.update(scopes)
    return {
        "total_tools": len(names),
        "tools_by_name": names,
        "scope_usage": dict(sorted(usage.items())),
        "unique_scopes": len(usage),
    }


def _walk(audience: Audience, *, after: str, chunk: int) -> Iterator[Found]:
    own = sorted((e for e in audience.linked if e.name > after), key=attrgetter("name"))
    by_name = _by_name(audience, after, max(chunk, _CHUNK))
    yield from merge(_allowed(own, audience), by_name, key=lambda found: found[0].name)


def _by_name(audience: Audience, after: str, chunk: int) -> Iterator[Found]:
    """Yield the tools of the catalogue in the order of their letters' codes, as Python has it."""
    tools = audience.tools.alias(letters=LETTERS).order_by("letters")
    while True:
        rows = tools.filter(letters__gt=after) if after else tools
        stamps = list(rows.values_list(Stamp(), flat=True)[:chunk])
        entries = entries_of(stamps)
        yield from _allowed(entries, audience)
        if len(stamps) < chunk or not entries:
            return
        after = entries[-1].name


def _allowed(entries: Iterable[Entry], audience: Audience) -> Iterator[Found]:
    """Leave out what takes a scope that is not there, or what the agent's rules deny."""
    scopes = audience.scopes
    if scopes is not None:
        known: dict[tuple[str, ...], bool] = {}
        fit = []
        for entry in entries:
            own = entry.scopes
            may = known.get(own)
            if may is None:
                may = known[own] = scopes.issuperset(own)
            if may:
                fit.append(entry)
        entries = fit
    found = _with_steps(list(entries))
    if scopes is not None:
        found = [(entry, all_) for entry, all_ in found if scopes.issuperset(all_)]
    denied = audience.denied([entry.id for entry, _ in found])
    return iter([each for each in found if each[0].id not in denied] if denied else found)


def _with_steps(entries: list[Entry]) -> list[Found]:
    sequences = [(e.id, e.version) for e in entries if e.kind == ToolKind.SEQUENCE]
    inner = step_scopes(sequences) if sequences else {}
    if not any(inner.values()):
        return [(entry, entry.scopes) for entry in entries]
    return [
        (
            entry,
            tuple(sorted({*entry.scopes, *inner[entry.id, entry.version]}))
            if entry.kind == ToolKind.SEQUENCE
            else entry.scopes,
        )
        for entry in entries
    ]


def _line(tool: JsonObject) -> str:
    description = " ".join(tool["description"].split())
    return f"- {tool['name']}({', '.join(tool['parameters'])}): {description}"


def _cursor(name: str) -> str:
    return base64.urlsafe_b64encode(name.encode()).decode().rstrip("=")


def _name_in(cursor: str) -> str:
    if not cursor:
        return ""
    try:
        padded = cursor.encode() + b"=" * (-len(cursor) % 4)
        name = base64.b64decode(padded, altchars=b"-_", validate=True).decode()
    except ValueError:
        name = ""
    if not name or "\x00" in name:
        raise InvalidInput("This cursor is none of this list's.", "Send the `next` of an answer.")
    return name
