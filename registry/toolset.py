"""An immutable set of tools that one turn or one run may call."""

from collections.abc import Iterable, Iterator, Mapping
from uuid import UUID

from config.lib.errors import Conflict
from registry.errors import UnknownTool
from registry.specs import ToolSpec


class NameClash(Conflict):
    """Two tools of one toolset have the same name."""

    code = "name_clash"


class Toolset(Mapping[str, ToolSpec]):
    """Wire name → spec, in the order given. A clash of names is an error that names both."""

    def __init__(self, specs: Iterable[ToolSpec] = ()) -> None:
        by_name: dict[str, ToolSpec] = {}
        for spec in specs:
            other = by_name.setdefault(spec.wire_name, spec)
            if other.tool_id != spec.tool_id:
                raise NameClash(
                    f"“{spec.wire_name}” names both {other.label} and {spec.label}.",
                    "Unlink one of the two tools.",
                )
        self._by_name = by_name

    def __getitem__(self, name: str) -> ToolSpec:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def named(self, name: str) -> ToolSpec:
        """Return the tool that a model called `name`, or raise UnknownTool with what there is."""
        try:
            return self._by_name[name]
        except KeyError:
            known = ", ".join(self._by_name) or "none"
            raise UnknownTool(
                f"There is no tool named “{name[:64]}”.", f"Available tools: {known}.", tool=name
            ) from None

    def ids(self) -> frozenset[UUID]:
        """Return the ids of all tools in the set."""
        return frozenset(spec.tool_id for spec in self._by_name.values())

    def plus(self, specs: Iterable[ToolSpec]) -> "Toolset":
        """Return a set with `specs` added behind what is there; a tool already in stays as is."""
        own = self.ids()
        return Toolset([*self.values(), *(spec for spec in specs if spec.tool_id not in own)])
