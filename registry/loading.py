"""Turn stored versions into specs, once."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from threading import Lock
from uuid import UUID

from registry.code_tool import RUN_CODE
from registry.deprecated import deprecation_notice
from registry.errors import ToolUnavailable
from registry.models import Tool, ToolVersion
from registry.models.tool import ToolKind
from registry.specs import ToolSpec, spec_of

Pins = Mapping[UUID, int | None]
"""Tool id → the version number an agent or a step pins, or None for the current one."""


class SpecCache:
    """The most recently used specs, by tool, version and wire name.

    A version never changes, so nothing here goes stale; the wire name may, and is in the key.
    """

    def __init__(self, size: int = 20_000) -> None:
        self._size = size
        self._specs: OrderedDict[tuple[UUID, int, str], ToolSpec] = OrderedDict()
        self._lock = Lock()

    def get(self, key: tuple[UUID, int, str]) -> ToolSpec | None:
        with self._lock:
            spec = self._specs.get(key)
            if spec is not None:
                self._specs.move_to_end(key)
            return spec

    def put(self, key: tuple[UUID, int, str], spec: ToolSpec) -> None:
        with self._lock:
            self._specs[key] = spec
            if len(self._specs) > self._size:
                self._specs.popitem(last=False)


_cache = SpecCache()


def load_specs(tools: Iterable[Tool], pins: Pins | None = None) -> list[ToolSpec]:
    """Return the specs of `tools` in their order, with one query for those not seen before.

    Raises ToolUnavailable when a pinned version does not exist.
    """
    tools = list(tools)
    wanted = [
        (tool.pk, (pins or {}).get(tool.pk) or tool.version, tool.wire_name) for tool in tools
    ]
    specs = {key: _cache.get(key) for key in wanted}
    missing = [key for key, spec in specs.items() if spec is None]
    if missing:
        rows = {
            (row.tool_id, row.number): row
            for row in ToolVersion.objects.filter(
                tool_id__in=[key[0] for key in missing],
                number__in={key[1] for key in missing},
            )
        }
        for key in missing:
            row = rows.get(key[:2])
            if row is None:
                raise ToolUnavailable(
                    f"{key[2]} has no version {key[1]}.",
                    "Choose one of the versions on the tool's page, or remove the pin.",
                    tool=key[2],
                )
            loaded = specs[key] = spec_of(row, wire_name=key[2])
            _cache.put(key, loaded)
    return [
        _noticed(spec, tool)
        for tool, key in zip(tools, wanted, strict=True)
        if (spec := specs[key]) is not None
    ]


def _noticed(spec: ToolSpec, tool: Tool) -> ToolSpec:
    """Return the spec with what the live row says of it now; versions are kept without."""
    notice = deprecation_notice(tool)
    return replace(spec, notice=notice) if notice else spec


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
