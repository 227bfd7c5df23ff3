"""Calls that wait for a person before they can be answered."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from uuid import UUID

from chat.models.input_request import InputKind
from config.lib.masking import Masker
from config.lib.types import JsonObject
from registry.errors import (
    AgentWaits,
    ApprovalRequired,
    InputNeeded,
    MissingCredential,
    QuestionAsked,
    RunAsks,
)
from registry.questions import ASK_USER
from registry.replay import PendingCall
from registry.results import Failed, ToolResult
from registry.specs import ToolSpec

_KINDS = {
    AgentWaits.code: InputKind.AGENT,
    ApprovalRequired.code: InputKind.APPROVAL,
    MissingCredential.code: InputKind.CREDENTIAL,
    QuestionAsked.code: InputKind.QUESTION,
    RunAsks.code: InputKind.APPROVAL,
}


@dataclass(frozen=True, kw_only=True)
class Ask:
    """One thing that a person is asked, as an `InputRequest` keeps it.

    `inner_call` names the call among those of a program; a plain call has none.
    """

    kind: InputKind
    tool: str
    tool_id: UUID | None
    asked: JsonObject
    inner_call: str = ""


@dataclass(frozen=True)
class Pause:
    """The outcome of a call that waits: for one answer, or as a program for several."""

    asks: tuple[Ask, ...]

    def masked(self, masker: Masker) -> "Pause":
        """Return the pause without the secrets that a masker knows."""
        return Pause(tuple(replace(ask, asked=masker.value(ask.asked)) for ask in self.asks))


def ask_of(
    error: JsonObject,
    *,
    tool: str,
    tool_id: UUID | None,
    title: str = "",
    arguments: JsonObject | None = None,
    schema: Mapping[str, object] | None = None,
    inner_call: str = "",
) -> Ask:
    """Return what a person is asked because of an error `{code, message, hint, extra}`."""
    kind, extra = _KINDS[error["code"]], error.get("extra") or {}
    asked: JsonObject
    match kind:
        case InputKind.APPROVAL if error["code"] == RunAsks.code:
            told = {"run": extra["run"], "run_request": extra["request"]}
            asked = {"arguments": extra.get("values") or {}, "reason": extra["words"], **told}
            asked |= {"schema": extra["schema"]} if extra.get("schema") else {}
            title = extra["title"]
        case InputKind.APPROVAL:
            asked = {"arguments": arguments or {}, "reason": extra.get("reason") or ""}
            asked |= {"schema": dict(schema)} if schema else {}
        case InputKind.CREDENTIAL:
            asked = {"names": list(extra.get("missing") or ())}
        case InputKind.QUESTION:
            asked = {
                "question": extra.get("question") or error.get("message", ""),
                "options": list(extra.get("options") or ()),
            }
        case InputKind.AGENT:
            asked = {key: extra.get(key) or "" for key in ("agent", "conversation", "turn")}
    asked["title"] = title or tool
    return Ask(kind=kind, tool=tool, tool_id=tool_id, asked=asked, inner_call=inner_call)


def pause_of(result: ToolResult, spec: ToolSpec, arguments: JsonObject) -> Pause | None:
    """Return what a call's result makes the turn wait for, or None where it is an answer.

    A variable that the package never declared can be given by nobody yet, so that it is not asked
    for: the model is told.
    """
    if not isinstance(result, Failed) or not is_pausing(result.error):
        return None
    ask = ask_of(
        result.error.as_dict(),
        tool=spec.wire_name,
        tool_id=spec.tool_id,
        title=spec.title,
        arguments=arguments,
        schema=spec.input_schema,
    )
    return Pause((ask,))


def ask_of_pending(call: PendingCall) -> Ask:
    """Return what a person is asked because of a call that a program makes."""
    return ask_of(
        call.error,
        tool=call.tool,
        tool_id=UUID(call.tool_id) if call.tool_id else None,
        title=call.title or ("Question" if call.tool == ASK_USER else ""),
        schema=call.schema,
        arguments=call.arguments,
        inner_call=call.key,
    )


def is_pausing(error: Exception) -> bool:
    """Tell whether an error means that a person has something to say first."""
    if isinstance(error, MissingCredential):
        return not error.extra.get("undeclared")
    return isinstance(error, InputNeeded) and error.code in _KINDS
