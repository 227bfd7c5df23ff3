"""What a tool's calls do to the world, as far as it is known.

The four words are those of the Model Context Protocol (`ToolAnnotations`, 2025-06-18). What nobody
declared is told with care: a tool that is not known to be read-only counts as one that writes.
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from registry.models.tool import ToolKind
from registry.specs import ToolSpec


class Annotations(NamedTuple):
    """`destructive`: it may change or delete what is there; `open_world`: it reaches others."""

    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    open_world: bool = True

    @property
    def words(self) -> list[str]:
        """Return what people are told: “read-only” or “writes”, then what else holds."""
        more = (
            ("destructive", self.destructive),
            ("idempotent", self.idempotent and not self.read_only),
            ("open world", self.open_world),
        )
        return [
            "read-only" if self.read_only else "writes",
            *(word for word, is_so in more if is_so),
        ]


CLOSED = Annotations(read_only=True, idempotent=True, open_world=False)
"""Of built-in tools, and of running a program: each of its calls is judged by itself."""

_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_REPEATABLE = _READING | {"PUT", "DELETE"}
"""Methods by RFC 9110, 9.2.1 and 9.2.2."""


def annotations_of(spec: ToolSpec, hosts: Collection[str] | None = None) -> Annotations:
    """Return what is known of one tool that is no sequence.

    `hosts` are those that review lets its package reach, None where that is not known.
    """
    match spec.kind:
        case ToolKind.BUILTIN | ToolKind.CODE:
            return CLOSED
        case ToolKind.API:
            method = str((spec.definition or {}).get("method", "GET")).upper()
            return Annotations(
                read_only=method in _READING,
                destructive=method == "DELETE",
                idempotent=method in _REPEATABLE,
            )
        case ToolKind.MCP:
            return _declared(spec.ai_agent.get("annotations"))
    return Annotations(open_world=hosts is None or bool(hosts))


def annotations_together(parts: Iterable[Annotations]) -> Annotations:
    """Return what holds of calling all of these."""
    parts = list(parts)
    return Annotations(
        read_only=all(part.read_only for part in parts),
        destructive=any(part.destructive for part in parts),
        idempotent=all(part.idempotent for part in parts),
        open_world=any(part.open_world for part in parts),
    )


def _declared(hints: object) -> Annotations:
    """Return what an MCP server said; a tool that only reads destroys nothing, whatever it said."""
    said = hints if isinstance(hints, dict) else {}
    read_only = said.get("readOnlyHint") is True
    return Annotations(
        read_only=read_only,
        destructive=said.get("destructiveHint") is True and not read_only,
        idempotent=read_only or said.get("idempotentHint") is True,
        open_world=said.get("openWorldHint") is not False,
    )
