"""The page of one call."""

from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from config.lib.http import SignedInRequest
from config.lib.types import JsonObject
from registry.media import Media, media_in, without_media
from registry.models import Invocation
from registry.models.tool import ToolKind
from registry.selectors import invocation_visible_to, invocations_inside
from registry.views.display import pretty


@dataclass(frozen=True, kw_only=True)
class Shown:
    """One call as the page shows it: what it was given and gave, as text, pictures and sounds."""

    call: Invocation
    code: str
    arguments: str
    printed: str
    output: str
    media: list[Media]


@login_required
@require_GET
def invocation_detail(request: SignedInRequest, invocation_id: UUID) -> HttpResponse:
    """Show a call: what it was given, how it ended and, of a program, every call it made."""
    invocation = invocation_visible_to(request.user, invocation_id)
    context = {
        "shown": shown(invocation),
        "inside": [shown(call) for call in invocations_inside(invocation)],
        "is_program": invocation.tool.kind == ToolKind.CODE,
    }
    return render(request, "registry/invocation_detail.html", context)


def shown(call: Invocation) -> Shown:
    """Return a call in texts; a program and what it printed stand as they are."""
    is_program = call.tool.kind == ToolKind.CODE
    told: JsonObject = call.error.get("extra", {}) if call.error else _object(call.output)
    answer = told.get("result", call.output) if is_program else call.output
    code, printed = _object(call.arguments).get("code"), told.get("printed")
    return Shown(
        call=call,
        code=code if is_program and isinstance(code, str) else "",
        arguments=pretty(call.arguments),
        printed=printed if is_program and isinstance(printed, str) else "",
        output="" if call.error else pretty(without_media(answer)),
        media=[] if call.error else media_in(answer),
    )


def _object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}
