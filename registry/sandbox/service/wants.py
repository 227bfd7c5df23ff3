"""What an MCP server asked for in vain, and how that explains the failure of a call.

The wrapper around the server tells of it in messages of its own (`guest/server.mjs`), which the
client never sees. A server could forge them: then it is told what it says of itself.
"""

import contextlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from registry.sandbox.service.calls import variable_names
from registry.sandbox.service.denials import denied_hosts, explained, failed_softly
from registry.sandbox.service.egress import MAX_REMEMBERED, Egress
from registry.sandbox.service.errors import ServiceError
from registry.sandbox.service.process import SIGNAL_EXIT

METHOD = "outfitter/wanted"
MAX_WORDS = 4_000


@dataclass(slots=True)
class Wants:
    """The hosts and keys of one conversation; `egress` is the way out of its sandbox."""

    egress: Egress | None
    _hosts: dict[str, None] = field(default_factory=dict)
    _variables: dict[str, None] = field(default_factory=dict)
    _calls: set[Any] = field(default_factory=set)
    _greeted: bool = False

    def takes(self, message: dict[str, Any]) -> bool:
        """Note a message of the wrapper; returns False for one of the server."""
        if message.get("method") != METHOD:
            return False
        params = message.get("params")
        told = params if isinstance(params, dict) else {}
        if len(self._hosts) < MAX_REMEMBERED:
            self._hosts |= dict.fromkeys(denied_hosts([told.get("host")]))
        if len(self._variables) < MAX_REMEMBERED:
            self._variables |= dict.fromkeys(variable_names([told.get("variable")]))
        return True

    def sent(self, message: dict[str, Any]) -> None:
        """Note what the client asks; what was looked for before is not the call's."""
        if message.get("method") == "tools/call":
            self._calls.add(message.get("id"))
            self._variables.clear()

    def failure_in(self, message: dict[str, Any]) -> ServiceError | None:
        """Return why a call failed, where its answer says that it did and the reason is known."""
        identity = message.get("id")
        known = isinstance(identity, int | str) and identity in self._calls
        words = _failed_words(message) if known else None
        if words is None:
            self._greeted = self._greeted or "result" in message
            return None
        # Without a greeting before it, a look at the start cannot be told from one of the call.
        missing = self._variables if self._greeted else ()
        return self._reason(ServiceError("tool_failed", words), missing)

    def of_crash(self, error: ServiceError) -> ServiceError:
        """Return why a server gave up, or the error itself.

        Only one that ended by itself: a limit that was reached says enough.
        """
        ended = error.extra.get("exit_code", 0)
        if error.code != "tool_crashed" or not 0 < ended < SIGNAL_EXIT:
            return error
        failed = ServiceError("tool_failed", error.message, **error.extra)
        return self._reason(failed, self._variables) or error

    def _reason(self, error: ServiceError, missing: Iterable[str]) -> ServiceError | None:
        told = explained(error, self._hosts, self.egress)
        if told is not error:
            return told
        if names := list(missing):
            return ServiceError(error.code, error.message, **error.extra, missing_env=names)
        return None


def _failed_words(message: dict[str, Any]) -> str | None:
    """Return what an answer says that failed; None for one that does not."""
    if isinstance(error := message.get("error"), dict):
        return _short(error.get("message"))
    result = message.get("result")
    if not isinstance(result, dict):
        return None
    texts = _texts(result.get("content"))
    said = [result.get("structuredContent"), *(_parsed(text) for text in texts[:1])]
    if result.get("isError") is True or any(failed_softly(value) for value in said):
        return _short("\n".join(texts))
    return None


def _texts(content: Any) -> list[str]:
    blocks = content if isinstance(content, list) else []
    texts = [block.get("text") for block in blocks if isinstance(block, dict)]
    return [text for text in texts if isinstance(text, str)]


def _parsed(text: str) -> Any:
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(text)
    return None


def _short(words: Any) -> str:
    text = words.strip() if isinstance(words, str) else ""
    return text[:MAX_WORDS] or "The tool failed without a message."
