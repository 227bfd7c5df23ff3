"""Answer what a turn waits for, and let it go on where it stopped."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction

from agents.access import presets_of
from agents.selectors import agent_visible_to
from chat import services
from chat.errors import AnsweredElsewhere, RequestAnswered
from chat.event_writer import announce
from chat.models import Conversation, InputRequest, Turn
from chat.models.input_request import InputKind
from chat.models.turn import TurnStatus
from chat.secrecy import Secrecy
from chat.taking_up import answer_write
from chat.turns import turn_start
from chat.waiting import asks_for_run, open_requests
from config.lib.errors import InvalidInput, NotFound
from config.lib.jsontext import clean_text
from config.lib.types import JsonObject, JsonValue
from registry.schemas import validate_arguments
from sequences.models import RunRequest
from sequences.requests import request_answer as run_request_answer

LONGEST_TEXT = 10_000
"""Characters of an answer to a question, or of a note."""

SAID = {
    "approve": "It was approved.",
    "deny": "It was denied.",
    "set": "The value was given.",
    "skip": "It was skipped.",
    "answer": "The question was answered.",
    "done": "The agent that was asked is done.",
    "stopped": "The turn was stopped before anybody answered.",
}


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What a person says to a request.

    `arguments` take the place of the model's, as an object or its JSON text. `values` are secrets
    by name; they go to the credential store and nowhere else, for as much as `keep` says.
    """

    decision: str
    arguments: JsonValue = None
    note: str = ""
    remember: bool = False
    values: Mapping[str, str] = field(default_factory=dict, repr=False)
    keep: services.ValueScope = "conversation"
    text: str = ""


def request_of(
    user: User, request_id: UUID, *, conversation_id: UUID | None = None
) -> InputRequest:
    """Return what one of a person's conversations asks, or raise NotFound."""
    row = InputRequest.objects.filter(pk=request_id, turn__conversation__user=user)
    if conversation_id is not None:
        row = row.filter(turn__conversation_id=conversation_id)
    found = row.select_related("turn__conversation__agent", "turn__conversation__user").first()
    if found is None:
        raise NotFound("There is no such request among yours.", "Reload the conversation.")
    return found


def requests_of(conversation: Conversation) -> list[InputRequest]:
    """Return what a conversation waits for now, in the order in which it was asked."""
    waiting = conversation.turns.filter(status=TurnStatus.WAITING).first()
    return list(open_requests(waiting.pk)) if waiting else []


def request_answer(
    user: User, request_id: UUID, reply: Reply, *, conversation_id: UUID | None = None
) -> InputRequest:
    """Take a person's answer; with the last one that its turn waits for, the turn goes on.

    Raises NotFound for somebody else's request and for an agent that the person may not talk to any
    more (the turn can still be stopped), RequestAnswered for the second answer, AnsweredElsewhere
    for what another agent asks in its own conversation, and InvalidInput or InvalidArguments for
    one that cannot be taken: the request stays open then.
    """
    request = request_of(user, request_id, conversation_id=conversation_id)
    turn = request.turn
    agent_visible_to(user, turn.conversation.agent.slug)
    secrecy = Secrecy(turn.conversation)
    with transaction.atomic():
        # in this order, as whoever opens or ends a turn does it
        Conversation.objects.select_for_update().get(pk=turn.conversation_id)
        Turn.objects.select_for_update().get(pk=turn.pk)
        request.refresh_from_db(fields=["answer", "answered_at", "answered_by"])
        if request.answer is not None:
            decision = request.answer.get("decision", "")
            raise RequestAnswered(hint=SAID.get(decision, ""), decision=decision)
        taken = answer_write(request, _answer(request, reply, secrecy), user)
        transaction.on_commit(partial(announce, turn.pk, taken.events))
        if taken.goes_on:
            transaction.on_commit(partial(turn_start, turn.pk))
    return request


def _answer(request: InputRequest, reply: Reply, secrecy: Secrecy) -> JsonObject:
    """Return the answer as it is kept, after what it changes was written."""
    if request.kind == InputKind.AGENT:
        raise AnsweredElsewhere(
            f"{request.asked.get('agent') or 'The agent that was asked'} waits in its own "
            "conversation.",
            conversation=request.asked.get("conversation"),
            turn=request.asked.get("turn"),
        )
    take = _TAKEN.get((request.kind, reply.decision))
    if take is None:
        allowed = ", ".join(f"“{decision}”" for kind, decision in _TAKEN if kind == request.kind)
        raise InvalidInput(
            f"“{clean_text(reply.decision)[:40]}” is no answer to this.",
            f"Send one of: {allowed}.",
        )
    answer = {"decision": reply.decision, **take(request, reply, secrecy)}
    return {key: value for key, value in answer.items() if value not in ("", None, False)}


def _run_answered(
    request: InputRequest, reply: Reply, secrecy: Secrecy, *, approved: bool
) -> JsonObject:
    """Answer what the run of a sequence asks; it goes on by itself, and the call follows it."""
    values = _object(reply.arguments) if approved else None
    values = request.asked.get("arguments") if approved and values is None else values
    if secrecy.look().value(values) != values:
        raise InvalidInput(
            "The answer holds a value that is kept secret in this conversation.", "Leave it out."
        )
    note = secrecy.look().text(_text(reply.note, "note"))
    asked = RunRequest.objects.filter(pk=request.asked["run_request"]).first()
    if asked is None:
        raise NotFound("The run that asked this is gone.", "Stop the turn.")
    run_request_answer(
        asked,
        user=request.turn.conversation.user,
        approved=approved,
        values=values or None,
        note=note,
    )
    changed = approved and values != request.asked.get("arguments")
    return {"note": note} | ({"arguments": values} if changed else {})


def _approved(request: InputRequest, reply: Reply, secrecy: Secrecy) -> JsonObject:
    if asks_for_run(request):
        return _run_answered(request, reply, secrecy, approved=True)
    told: JsonObject = {"remember": reply.remember}
    arguments = _object(reply.arguments)
    if arguments is None or arguments == request.asked.get("arguments"):
        return told
    if secrecy.look().value(arguments) != arguments:
        raise InvalidInput(
            "The arguments hold a value that is kept secret in this conversation.",
            "Leave it out: tools are given the variables that they declare.",
        )
    agent = request.turn.conversation.agent
    preset = presets_of(agent)(request.tool_id) if request.tool_id else {}
    validate_arguments(request.asked.get("schema") or {}, {**arguments, **preset})
    if not request.inner_call:
        _call_changed(request, arguments)
    return told | {"arguments": arguments}


def _denied(request: InputRequest, reply: Reply, secrecy: Secrecy) -> JsonObject:
    if asks_for_run(request):
        return _run_answered(request, reply, secrecy, approved=False)
    return {"note": secrecy.look().text(_text(reply.note, "note"))}


def _given(request: InputRequest, reply: Reply, secrecy: Secrecy) -> JsonObject:
    conversation, names = request.turn.conversation, request.asked.get("names") or []
    values = {name: value for name, value in reply.values.items() if value}
    if unasked := sorted(values.keys() - set(names)):
        raise InvalidInput(
            f"{', '.join(unasked)[:200]} was not asked for.", f"Give {', '.join(names)}."
        )
    unset = [name for name in services.names_unset(conversation, names) if name not in values]
    if unset:
        raise InvalidInput(f"{', '.join(unset)} is not set.", "Fill it in, or skip it.")
    services.values_set(conversation, values, keep=reply.keep)
    return {}


def _replied(request: InputRequest, reply: Reply, secrecy: Secrecy) -> JsonObject:
    text = secrecy.look().text(_text(reply.text, "answer"))
    if not text:
        raise InvalidInput("The answer is empty.", "Write an answer, or skip the question.")
    return {"text": text}


def _skipped(request: InputRequest, reply: Reply, secrecy: Secrecy) -> JsonObject:
    return {}


_TAKEN: dict[tuple[str, str], Callable[[InputRequest, Reply, Secrecy], JsonObject]] = {
    (InputKind.APPROVAL, "approve"): _approved,
    (InputKind.APPROVAL, "deny"): _denied,
    (InputKind.CREDENTIAL, "set"): _given,
    (InputKind.CREDENTIAL, "skip"): _skipped,
    (InputKind.QUESTION, "answer"): _replied,
    (InputKind.QUESTION, "skip"): _skipped,
}


def _object(arguments: JsonValue) -> JsonObject | None:
    """Return changed arguments as an object; None where they were left as they are."""
    if isinstance(arguments, str):
        if not arguments.strip():
            return None
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError) as problem:
            raise InvalidInput(
                f"The arguments are not valid JSON: {problem}.", "Correct the place and send again."
            ) from None
    if arguments is not None and not isinstance(arguments, dict):
        raise InvalidInput("The arguments must be a JSON object.", 'Such as {"name": "value"}.')
    return arguments


def _text(text: str, what: str) -> str:
    text = clean_text(text).strip()
    if len(text) > LONGEST_TEXT:
        raise InvalidInput(
            f"The {what} has {len(text):,} characters; at most {LONGEST_TEXT:,} are taken.",
            "Shorten it.",
        )
    return text


def _call_changed(request: InputRequest, arguments: JsonObject) -> None:
    """Have the transcript say what is really called; the request keeps what the model sent."""
    for message in request.turn.messages.exclude(tool_calls=[]):
        calls = message.tool_calls
        for call in calls:
            if call["id"] == request.call_id:
                call["arguments"] = json.dumps(arguments, ensure_ascii=False)
                message.save(update_fields=["tool_calls"])
