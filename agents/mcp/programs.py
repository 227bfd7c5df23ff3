"""Programs of `run_code` that wait for a person, between two calls of their client.

Such a program is ended, and run again from its start once the person has answered: what it had
called gives what it gave (`registry.replay`). Until then that is kept in the cache, sealed.
"""

import json
from dataclasses import asdict, replace
from typing import Final
from uuid import uuid4

import mcp_types as types
from django.core.cache import cache
from django.urls import reverse

from agents.mcp.endpoint import Endpoint
from agents.mcp.questions import NO_FORM, Question, approvals_page, arguments_told
from agents.mcp.request_state import ASK_SECONDS, CallState, refused_state
from config.lib.sealing import NotOpenedError, open_sealed, seal
from config.lib.types import JsonObject
from registry.replay import Decided, Pause, PendingCall, Replay
from registry.results import Failed

MOST_KEPT = 8_000_000
"""Characters of what a program's calls gave that are kept while it waits."""

APPROVAL: Final = "approval_required"
CREDENTIAL: Final = "missing_credential"
QUESTION: Final = "question_asked"


def replay_of(call_id: str) -> Replay:
    """Return from what the program of a call is run: its first run where it did not wait yet."""
    kept = _kept(call_id)
    if kept is None:
        return Replay()
    pause = Pause.of(kept["pause"])
    return Replay(
        start=pause.start,
        recorded={call.key: call for call in pause.calls},
        decided={key: Decided(**said) for key, said in kept["decided"].items()},
    )


def program_question(endpoint: Endpoint, state: CallState, paused: Failed) -> Question | None:
    """Keep a program that waits, and return what a person is asked: all at once.

    None where a call of it waits for what cannot be asked here, or too much would be kept.
    """
    pause = Pause.of((paused.details or {})["pause"])
    if any(call.error["code"] not in _WORDS for call in pause.pending):
        return None
    kept = _kept(state.call_id)
    told = {"id": uuid4().hex, "pause": pause.as_dict(), "decided": kept["decided"] if kept else {}}
    if not _keep(state.call_id, told):
        return None
    asked = [call for call in pause.pending if call.error["code"] == QUESTION]
    fields = {_field(call): {"type": "string", "title": call.error["message"]} for call in asked}
    words = [
        "A program waits for you.",
        *(_WORDS[call.error["code"]](call) for call in pause.pending),
    ]
    needs_credential = any(call.error["code"] == CREDENTIAL for call in pause.pending)
    return Question(
        asked="program",
        message="\n\n".join(words),
        page=reverse("agents:credential_list") if needs_credential else approvals_page(endpoint),
        form={**NO_FORM, "properties": fields, **({"required": list(fields)} if fields else {})},
        request=told["id"],
    )


def program_answered(state: CallState, reply: types.ElicitResult) -> CallState:
    """Keep what a person said to the calls of a program, and return the state it is run again from.

    Raises MCPError where it no longer waits for this answer.
    """
    kept = _kept(state.call_id)
    if kept is None or kept["id"] != state.request:
        raise refused_state()
    accepted, content = reply.action == "accept", reply.content or {}
    tries = state.tries
    for told in kept["pause"]["pending"]:
        call = PendingCall(**told)
        match call.error["code"]:
            case "approval_required":
                said = Decided(approved=accepted)
            case "question_asked":
                answer = str(content.get(_field(call)) or "") if accepted else ""
                said = Decided(answer=answer) if answer else Decided(skipped=True)
            case _ if accepted:  # it is looked again whether the credential is set
                tries = state.tries + 1
                continue
            case _:
                said = Decided(skipped=True)
        kept["decided"][call.key] = asdict(said)
    _keep(state.call_id, {**kept, "id": ""})
    return replace(state, asked="", tries=tries)


def _field(call: PendingCall) -> str:
    return f"answer_{call.number}"


def _let_run(call: PendingCall) -> str:
    reason = str(call.error["extra"].get("reason") or "")
    words = f"Let “{call.title or call.tool}” ({call.tool}) run?"
    return "\n".join(filter(None, (words, reason, arguments_told(call.arguments))))


def _to_be_set(call: PendingCall) -> str:
    return f"{call.error['message']} Set it under Credentials before you accept."


def _put(call: PendingCall) -> str:
    options = call.error["extra"].get("options") or []
    message: str = call.error["message"]
    return message + (f" ({' / '.join(map(str, options))})" if options else "")


_WORDS: Final = {APPROVAL: _let_run, CREDENTIAL: _to_be_set, QUESTION: _put}


def _kept(call_id: str) -> JsonObject | None:
    sealed = cache.get(_name(call_id))
    if sealed is None:
        return None
    try:
        kept: JsonObject = json.loads(open_sealed(sealed))
    except NotOpenedError:
        return None
    return kept


def _keep(call_id: str, told: JsonObject) -> bool:
    text = json.dumps(told)
    if len(text) > MOST_KEPT:
        return False
    cache.set(_name(call_id), seal(text), ASK_SECONDS)
    return True


def _name(call_id: str) -> str:
    return f"mcp-program:{call_id}"
