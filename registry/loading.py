"""Turn stored versions into specs, once."""

from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from threading import Lock
from uuid import UUID

from django.db.models import QuerySet

from registry.code_tool import RUN_CODE
from registry.deprecated import deprecation_notice, notice_of
from registry.errors import ToolUnavailable
from registry.models import Tool, ToolVersion
from registry.models.tool import ToolKind
from registry.specs import ToolSpec, spec_of

Key = tuple[UUID, int, str]
"""A tool's id, one of its versions, and the wire name that it has now."""

Pins = Mapping[UUID, int | None]
"""Tool id → the version number an agent or a step pins, or None for the current one."""

_CURRENT = (
    *("pk", "version", "wire_name", "required_scopes", "deprecated_on"),
    *("successor__wire_name", "successor__deleted_at"),
)
"""The key of a tool as it is now, and what its row says of it besides (`_as_now`)."""


class SpecCache:
    """The most recently used specs, by tool, version and wire name.

    A version never changes, so nothing here goes stale; the wire name may, and is in the key.
    """

    def __init__(self, size: int = 20_000) -> None:
        self._size = size
        self._specs: OrderedDict[Key, ToolSpec] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Key) -> ToolSpec | None:
        with self._lock:
            spec = self._specs.get(key)
            if spec is not None:
                self._specs.move_to_end(key)
            return spec

    def put(self, key: Key, spec: ToolSpec) -> None:
        with self._lock:
            self._specs[key] = spec
            if len(self._specs) > self._size:
                self._specs.popitem(last=False)


_cache = SpecCache()


def load_specs(tools: Iterable[Tool], pins: Pins | None = None) -> list[ToolSpec]:
    """Return the specs of `tools` in their order, with one query for those not seen before.

    Raises ToolUnavailable when a pinned version does not exist.
    """
    wanted = [(tool, (pins or {}).get(tool.pk)) for tool in tools]
    specs = []
    for (tool, version), spec in zip(wanted, load_known(wanted), strict=True):
        if spec is None:
            raise _without_version(tool.wire_name, version or tool.version)
        specs.append(spec)
    return specs


def load_known(wanted: Sequence[tuple[Tool, int | None]]) -> list[ToolSpec | None]:
    """Return the specs of tools at these versions (None: the current one) in their order.

    It is None where there is no such version. One query finds those not seen before.
    """
    keys = [(tool.pk, version or tool.version, tool.wire_name) for tool, version in wanted]
    specs = _versions(keys)
    found = [(specs.get(key), tool) for key, (tool, _) in zip(keys, wanted, strict=True)]
    return [
        _as_now(spec, deprecation_notice(tool), tool.required_scopes) if spec is not None else None
        for spec, tool in found
    ]


def load_current(tools: QuerySet[Tool]) -> list[ToolSpec]:
    """Return what `load_specs` does of the tools of a query, for long lists.

    Of each row is read what its spec is found by, and no model is made of it: that would take
    most of the time.
    """
    rows = list(tools.select_related(None).values_list(*_CURRENT))
    specs = _versions([row[:3] for row in rows])
    found = []
    for id_, version, name, scopes, day, successor, gone in rows:
        spec = specs.get((id_, version, name))
        if spec is None:
            raise _without_version(name, version)
        notice = notice_of(day, "" if gone else successor or "") if day else ""
        found.append(_as_now(spec, notice, scopes))
    return found


def _without_version(name: str, version: int) -> ToolUnavailable:
    return ToolUnavailable(
        f"{name} has no version {version}.",
        "Choose one of the versions on the tool's page, or remove the pin.",
        tool=name,
    )


def _versions(keys: Collection[Key]) -> dict[Key, ToolSpec]:
    """Return the specs of those that exist, with one query for those not seen before."""
    known = {key: _cache.get(key) for key in keys}
    specs = {key: spec for key, spec in known.items() if spec is not None}
    if missing := known.keys() - specs.keys():
        rows = {
            (row.tool_id, row.number): row
            for row in ToolVersion.objects.filter(
                tool_id__in=[key[0] for key in missing],
                number__in={key[1] for key in missing},
            )
        }
        for key in missing:
            if (row := rows.get(key[:2])) is not None:
                loaded = specs[key] = spec_of(row, wire_name=key[2])
                _cache.put(key, loaded)
    return specs


def _as_now(spec: ToolSpec, notice: str, scopes: Iterable[str]) -> ToolSpec:
    """Return the spec with what the live row says of it now, whatever its version was kept with.

    A call of any version needs the scopes that the tool requires now.
    """
    required = frozenset(scopes)
    if not notice and required == spec.required_scopes:
        return spec
    return replace(spec, notice=notice, required_scopes=required)


def code_ids() -> frozenset[UUID]:
    """Return the ids of the tools that run code; agents have them by a setting, not by search."""
    tools = Tool.objects.filter(kind=ToolKind.CODE, deleted_at=None)
    return frozenset(tools.values_list("pk", flat=True))


def code_spec() -> ToolSpec | None:
    """Return the tool that runs code, or None when the built-ins were never loaded."""
    tool = Tool.objects.filter(export_name=RUN_CODE, kind=ToolKind.CODE, deleted_at=None).first()
    return load_spec(tool) if tool else None


def load_spec(tool: Tool, version: int | None = None) -> ToolSpec:
    """Return the spec of one tool, at `version` or as it is now."""
    return load_specs([tool], {tool.pk: version})[0]
