"""Tools as the JSON that lists send: checked and written once, then kept.

A text is kept under all that it is made of: a version, which never changes, the name and the words
that the tool has now, and what is known of its calls. So nothing has to be forgotten when a tool
changes, and whoever may see a tool gets the text that fits what was just read of it.
"""

import json
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from uuid import UUID

from mcp_types.methods import serialize_server_result
from pydantic import ValidationError

from agents.mcp.wire import tool_wire
from config.lib.types import JsonObject
from registry.annotations import Annotations
from registry.effects import annotations_of_each
from registry.errors import ToolUnavailable
from registry.specs import ToolSpec

MOST_KEPT = 48_000_000
"""Bytes of texts that a process keeps, with what they are found by: some 30,000 tools' usually."""

LARGEST_KEPT = 100_000
"""Bytes of the largest text that is kept."""

_OVERHEAD = 600
"""Bytes that a text takes besides itself and its description, about."""

Key = tuple[UUID, int, str, str, str, Annotations, str]


class RenderedTools:
    """The most recently used texts."""

    def __init__(self) -> None:
        self._texts: OrderedDict[Key, bytes] = OrderedDict()
        self._lock = Lock()
        self.size = 0

    def get(self, keys: Sequence[Key]) -> list[bytes | None]:
        """Return the texts of these keys, in their order."""
        with self._lock:
            found = [self._texts.get(key) for key in keys]
            for key, text in zip(keys, found, strict=True):
                if text is not None:
                    self._texts.move_to_end(key)
        return found

    def put(self, key: Key, text: bytes) -> None:
        """Keep a text, and give up those that were not used for longest."""
        if len(text) > LARGEST_KEPT:
            return
        with self._lock:
            if key not in self._texts:
                self.size += _size(key, text)
            self._texts[key] = text
            while self.size > MOST_KEPT:
                self.size -= _size(*self._texts.popitem(last=False))


rendered_tools = RenderedTools()
"""Those of this process."""


def tools_text(specs: Sequence[ToolSpec], version: str) -> list[bytes]:
    """Return tools as `tools/list` of a protocol revision sends them, in their order."""
    known = annotations_of_each(specs)
    keys = [
        _key(spec, annotations, version) for spec, annotations in zip(specs, known, strict=True)
    ]
    texts = rendered_tools.get(keys)
    missing = [place for place, text in enumerate(texts) if text is None]
    wires = [tool_wire(specs[place], known[place], version) for place in missing]
    for place, text in zip(missing, rendered(wires, version), strict=True):
        rendered_tools.put(keys[place], text)
        texts[place] = text
    return [text for text in texts if text is not None]


def rendered(tools: Sequence[JsonObject], version: str) -> list[bytes]:
    """Return tools as the SDK sends them in this revision, which leaves out what it does not know.

    Raises ToolUnavailable for one that the revision does not allow.
    """
    if not tools:
        return []
    page = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": [*tools]}
    try:
        sent = serialize_server_result("tools/list", version, page)["tools"]
    except ValidationError as error:
        name = tools[int(error.errors()[0]["loc"][1])]["name"]
        raise ToolUnavailable(
            f"{name} cannot be listed: its schemas are none that MCP {version} allows.",
            "Mend them, or stop the tool.",
            tool=name,
        ) from None
    return [json.dumps(tool, separators=(",", ":")).encode() for tool in sent]


def _key(spec: ToolSpec, annotations: Annotations, version: str) -> Key:
    words = (spec.wire_name, spec.description, spec.notice)
    return (spec.tool_id, spec.version, *words, annotations, version)


def _size(key: Key, text: bytes) -> int:
    return len(text) + len(key[3]) + _OVERHEAD
