"""What a turn asks of a person, as a part of the page: from its event or from its row."""

from chat.models import InputRequest
from chat.parts import Ask
from config.lib.types import JsonObject

ABOUT = frozenset({"request", "id", "kind", "tool", "inner_call"})
"""What an `input.required` tells besides what is asked, which is all the rest of it."""


def ask_of_event(data: JsonObject) -> Ask:
    """Return the part for an `input.required`."""
    return Ask(
        id=element_id(data["request"]),
        request=data["request"],
        kind=data["kind"],
        call_id=data["id"],
        tool=data.get("tool") or "",
        title=data.get("title") or data.get("tool") or "",
        asked={key: value for key, value in data.items() if key not in ABOUT},
    )


def ask_of_row(row: InputRequest) -> Ask:
    """Return the part for a request that is kept."""
    answer = dict(row.answer) if row.answer is not None else None
    if answer and answer.get("arguments") not in (None, row.asked.get("arguments")):
        answer["changed"] = True
    return Ask(
        id=element_id(str(row.pk)),
        request=str(row.pk),
        kind=row.kind,
        call_id=row.call_id,
        tool=row.tool_name,
        title=row.asked.get("title") or row.tool_name,
        asked=row.asked,
        answer=answer,
        answered_at=row.answered_at,
    )


def element_id(request: str) -> str:
    """Return the id of the element that shows a request."""
    return f"request-{request}"
