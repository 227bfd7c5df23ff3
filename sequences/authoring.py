"""Make, change and start sequences for the REST API of the registry."""

from contextlib import suppress
from typing import Any

from django.contrib.auth.models import User
from django.urls import reverse

from config.lib.errors import Conflict, NotFound
from config.lib.types import JsonObject, JsonValue
from registry.authoring import checked_fields, present_fields, require_owner, team_named
from registry.context import CallContext
from registry.models import Tool
from registry.review.drafts import draft_of
from sequences.asking import is_asked
from sequences.launch import await_end
from sequences.models import Run, RunRequest
from sequences.requests import request_answer
from sequences.runs import run_start
from sequences.services import sequence_create, sequence_delete, sequence_update
from sequences.states import run_cancel


class SequenceAuthor:
    """Implements `registry.authoring.ToolAuthor` and `AsksPeople` for tools of type `sequence`."""

    def create(self, user: User, data: JsonObject) -> Tool:
        """Make a sequence; what the body leaves out counts as empty."""
        empty = {"name": "", "description": "", "definition": None, "inputSchema": None}
        return sequence_create(user, **_fields(user, {**empty, **checked_fields("sequence", data)}))

    def update(self, user: User, tool: Tool, data: JsonObject) -> Tool:
        """Change the named fields of a sequence and publish the next version."""
        require_owner(user, tool)
        fields = _fields(
            user, {**present_fields(draft_of(tool)), **checked_fields("sequence", data)}
        )
        return sequence_update(tool, author=user, **fields)

    def delete(self, user: User, tool: Tool) -> None:
        """Delete a sequence."""
        require_owner(user, tool)
        sequence_delete(tool)

    def launch(
        self,
        user: User,
        tool: Tool,
        arguments: JsonValue,
        context: CallContext,
        version: int | None = None,
        wait_seconds: float = 0,
    ) -> JsonObject:
        """Start a run and return `{run, status, url, page}`, with `output` and `error` of one that
        is over within `wait_seconds`; one that is not goes on."""
        run = run_start(tool, arguments, context=context.derive(user=user), version=version)
        run.refresh_from_db(fields=["status"])
        if wait_seconds:
            await_end(run, wait_seconds)
        ending = {"output": run.output, "error": run.error} if run.is_finished else {}
        url = reverse("run-detail", args=[run.pk])
        page = reverse("sequences:run_detail", args=[run.pk])
        return {"run": str(run.pk), "status": run.status, "url": url, "page": page, **ending}

    def answer(
        self, user: User, request: str, *, approved: bool, values: JsonValue = None, note: str = ""
    ) -> None:
        """Answer the question of a run, and let the run go on."""
        asked = RunRequest.objects.filter(pk=request, run__user=user).first()
        if asked is None:
            raise NotFound("There is no such question, or it is not yours to answer.")
        request_answer(asked, user=user, approved=approved, values=values, note=note)

    def asks(self, user: User, request: str) -> bool:
        """Tell whether a question still waits for its answer."""
        return is_asked(request)

    def cancel(self, user: User, run: str) -> None:
        """Cancel a run that is not over."""
        found = Run.objects.filter(pk=run, user=user, finished_at=None).first()
        if found is not None:
            with suppress(Conflict):  # it ended just now
                run_cancel(found)


def _fields(user: User, data: JsonObject) -> dict[str, Any]:
    """Return the service's arguments, with the named team among the person's own."""
    fields = dict(data)
    fields["input_schema"] = fields.pop("inputSchema")
    fields["required_scopes"] = fields.pop("requiredScopes", ())
    fields["team"] = team_named(user, fields.get("team"))
    return fields
