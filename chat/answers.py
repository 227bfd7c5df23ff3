"""What a tool call gave: for the model, for the record and for the page."""

import json
from dataclasses import dataclass, replace
from typing import Any, Literal

from config.lib.jsontext import shortened, size_of, storable
from config.lib.masking import Masker
from config.lib.types import JsonObject, JsonValue
from registry.errors import ToolError
from registry.media import media_blocks, without_media
from registry.results import Failed, ToolResult

MODEL_BUDGET = 16_000
"""Bytes of one answer that the model reads; about 4,000 tokens."""

FRAME = 500
"""Bytes that stand round the start of an answer that had to be shortened: keys and the note."""

RECORD_BUDGET = 64_000
"""Bytes of one answer that the conversation keeps."""

LOGGED = ("stepNumber", "title", "tool", "status", "message")
"""What the conversation keeps of each step of a run; the rest stands on the page of the run."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer to one tool call; `value` is the output, or the error's wire shape.

    `details` is what a person may want to see beside it: `run_id` and `log` of a sequence, `found`
    of a search (`{query, tools}`), `logs` of a package (`[{level, text}]`), `artifacts` for the
    files that the tool saved (`[{id, name, version, size, media_type}]`, never their data).
    """

    status: Literal["succeeded", "failed"]
    value: JsonValue
    duration_ms: int = 0
    details: JsonObject | None = None
    artifact: JsonObject | None = None
    """Under which name the whole output is kept: `{id, name, version, size, media_type}`."""

    @classmethod
    def of(cls, result: ToolResult) -> "Answer":
        """Return the answer that a result of `invoke` is."""
        details = _without_data(storable(result.details)) if result.details else None
        if isinstance(result, Failed):
            return cls(
                status="failed",
                value=storable(result.error.as_dict()),
                duration_ms=result.duration_ms,
                details=details,
            )
        return cls(
            status="succeeded",
            value=result.output,
            duration_ms=result.duration_ms,
            details=details,
        )

    @classmethod
    def failed(cls, error: ToolError, *, tool: str) -> "Answer":
        """Return the answer to a call that reached no tool."""
        error.tool = error.tool or tool
        return cls(status="failed", value=storable(error.as_dict()))

    def masked(self, masker: Masker) -> "Answer":
        """Return the answer without the secrets that a masker knows."""
        return replace(
            self, value=masker.value(self.value), details=masker.value(storable(self.details))
        )

    def with_artifact(self, artifact: JsonObject) -> "Answer":
        """Return the answer with where its whole output is kept."""
        details = {**(self.details or {}), "artifact": artifact}
        return replace(self, artifact=artifact, details=details)

    def for_model(self) -> str:
        """Return the JSON text that the model reads, shortened to its budget."""
        key = "output" if self.status == "succeeded" else "error"
        value = without_media(self.value)
        saved = {"artifacts": files} if (files := self._saved()) else {}
        text = json.dumps({"status": self.status, key: value, **saved}, ensure_ascii=False)
        if self.artifact is None and len(text.encode("utf-8", "replace")) <= MODEL_BUDGET:
            return text
        preview = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
        note = (
            f"The {key} has {len(preview):,} bytes; only its start is shown. Ask the tool for less "
            "(a page, a filter, fewer fields) if the rest matters."
        )
        if kept := self.artifact:
            note = (
                f"The output has {kept['size']:,} bytes and is kept as the artifact "
                f"{kept['name']}, version {kept['version']}; only its start is shown. To hand all "
                f"of it to a tool, write «artifact_content:{kept['name']}» in a text argument."
            )
        # half of the budget, because escaping the preview again may double it
        room = MODEL_BUDGET - FRAME - size_of(saved)
        start = preview[: room // 2].decode("utf-8", "ignore")
        return json.dumps(
            {"status": self.status, "truncated": True, "note": note, "preview": start, **saved},
            ensure_ascii=False,
        )

    def _saved(self) -> list[JsonObject]:
        """Return what the model is told of the files that the tool saved; it can name them."""
        told = ("name", "version", "media_type", "size", "problem")
        files: list[JsonObject] = (self.details or {}).get("artifacts", [])
        return [{key: file[key] for key in told if key in file} for file in files]

    def for_record(self) -> JsonObject:
        """Return `{status, output|error, duration_ms, details?, media?}` as it is kept.

        `media` has the pictures and sounds, as content blocks; in the rest stand words for them.
        """
        key = "output" if self.status == "succeeded" else "error"
        record: dict[str, Any] = {
            "status": self.status,
            key: shortened(without_media(self.value), RECORD_BUDGET),
            "duration_ms": self.duration_ms,
        }
        if media := media_blocks(self.value, self.details):
            record["media"] = media
        if self.details:
            record["details"] = _kept(self.details)
        return record


def _without_data(details: JsonObject) -> JsonObject:
    """Return the details with the names of the files that a tool saved, and not the files."""
    if not isinstance(files := details.get("artifacts"), list):
        return details
    named = [{key: value for key, value in file.items() if key != "data"} for file in files]
    return {**details, "artifacts": named}


def _kept(details: JsonObject) -> JsonObject:
    """Return the details without what is too long, and a run's log without its outputs.

    The outputs stand on the page of the run.
    """
    worded = without_media(details)
    kept = {key: value for key, value in worded.items() if size_of(value) <= RECORD_BUDGET}
    if isinstance(log := details.get("log"), list):
        kept["log"] = [{key: entry[key] for key in LOGGED if key in entry} for entry in log]
    return kept
