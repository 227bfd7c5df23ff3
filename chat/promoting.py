"""Make a draft sequence of what an agent did: of a turn's calls, or of one program's."""

from collections.abc import Sequence
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from agents.access import presets_of
from chat.errors import NothingToPromote, NotPromotable
from chat.models import Message, Turn
from chat.models.message import Role
from config.lib.errors import NotFound
from config.lib.types import JsonValue
from registry.models import Invocation, Tool
from registry.models.invocation import Caller, Outcome
from registry.models.tool import ToolKind
from registry.selectors import tools_usable_by
from sequences.definition import MAX_STEPS
from sequences.drafting import Draft, MadeCall, draft
from sequences.services import sequence_create

LONGEST_TITLE = 60

NO_PROGRAM = NotFound("There is no such program in this turn.", "Reload its page.")


def promotable(turn: Turn, invocation_id: UUID | None = None) -> QuerySet[Invocation]:
    """Return the calls that a sequence would be made of, in the order in which they ended.

    Those of a turn's programs stand in the place of the programs; with `invocation_id`, only those
    that this program made.
    """
    # what a turn called is found by its person and its time, for which there is an index
    calls = Invocation.objects.filter(
        turn_id=turn.pk,
        user=turn.conversation.user_id,
        created_at__gte=turn.created_at,
        outcome=Outcome.SUCCEEDED,
    )
    made_by_program = Q(caller=Caller.CODE)
    if invocation_id is not None:
        made_by_program &= Q(parent_id=invocation_id)
        calls = calls.filter(made_by_program)
    else:
        calls = calls.filter(Q(caller=Caller.CHAT) | made_by_program)
    return calls.exclude(tool__kind=ToolKind.CODE).order_by("created_at", "pk")


def program_named(text: str) -> UUID | None:
    """Return the id of a program that a form names, None for an empty one; raises NotFound."""
    try:
        return UUID(text) if text else None
    except ValueError:
        raise NO_PROGRAM from None


def turn_promote(turn: Turn, *, by: User, invocation_id: UUID | None = None) -> Tool:
    """Make a private sequence of a turn's successful calls, or of those of one of its programs.

    Raises NotFound for a program of another turn, NothingToPromote, NotPromotable, and
    DefinitionInvalid where a tool takes something else by now.
    """
    if (
        invocation_id is not None
        and not Invocation.objects.filter(
            pk=invocation_id, turn_id=turn.pk, tool__kind=ToolKind.CODE
        ).exists()
    ):
        raise NO_PROGRAM
    calls = list(promotable(turn, invocation_id).select_related("tool")[: MAX_STEPS + 1])
    if not calls:
        raise NothingToPromote
    if len(calls) > MAX_STEPS:
        raise NotPromotable(
            f"More than {MAX_STEPS} calls were made; a sequence has at most {MAX_STEPS} steps.",
            "Make a sequence of one item's calls by hand, and call it for each.",
        )
    _require_tools(by, calls)
    said = _said(turn)
    made = _made(turn, calls)
    drafted = draft(made, said=said)
    return sequence_create(
        by,
        name=_title(said),
        description=_description(said, made, drafted),
        definition=drafted.definition,
        input_schema=drafted.input_schema,
        reason="Drafted from a conversation",
    )


def _require_tools(user: User, calls: Sequence[Invocation]) -> None:
    usable = set(
        tools_usable_by(user)
        .filter(pk__in={call.tool_id for call in calls})
        .values_list("pk", flat=True)
    )
    gone = dict.fromkeys(call.tool.wire_name for call in calls if call.tool_id not in usable)
    if gone:
        raise NotPromotable(
            f"Not there any more, or not yours to use: {', '.join(gone)}.",
            "Ask the agent to do it again with the tools that there are, then use that turn.",
        )


def _made(turn: Turn, calls: Sequence[Invocation]) -> list[MadeCall]:
    presets = presets_of(turn.conversation.agent)
    made = []
    for call in calls:
        if not isinstance(call.arguments, dict) or _is_cut(call.arguments):
            raise NotPromotable(
                f"What {call.tool.wire_name} was given is too large: only its start was kept.",
                "Make the sequence by hand, in the builder.",
            )
        made.append(
            MadeCall(
                tool_id=str(call.tool_id),
                name=call.tool.wire_name,
                input_schema=call.tool.input_schema,
                arguments={**call.arguments, **presets(call.tool_id)},
                output=call.output,
                output_kept=not _is_cut(call.output),
            )
        )
    return made


def _is_cut(value: JsonValue) -> bool:
    """Tell whether `config.lib.jsontext.shortened` left only the start of a value."""
    return isinstance(value, dict) and set(value) == {"truncated", "bytes", "preview"}


def _said(turn: Turn) -> str:
    message = Message.objects.filter(turn=turn, role=Role.USER).order_by("position").first()
    return message.content if message else ""


def _title(said: str) -> str:
    words = " ".join(said.split())
    short = words if len(words) <= LONGEST_TITLE else f"{words[:LONGEST_TITLE].rstrip()}…"
    return f"Draft: {short}" if short else "Draft"


def _description(said: str, made: Sequence[MadeCall], drafted: Draft) -> str:
    names = ", ".join(dict.fromkeys(call.name for call in made))
    words = [f"Drafted from a conversation. It calls {names}."]
    if said:
        words.append(f"It was asked for so: “{' '.join(said.split())[:300]}”.")
    if drafted.secret:
        words.append(f"Secret, to be given: {', '.join(drafted.secret)}.")
    return " ".join(words)
