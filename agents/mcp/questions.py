"""What a person is asked because of a call, in words and as a form that MCP clients can show."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

import mcp_types as types
from django.urls import reverse

from agents.mcp.endpoint import Endpoint
from agents.mcp.request_state import ANSWER, Asked, CallState
from config.lib.types import JsonObject, JsonSchema, JsonValue
from registry.errors import ApprovalRequired, MissingCredential, RunAsks, ToolError
from registry.specs import ToolSpec

MOST_ARGUMENTS = 4_000
"""Characters of a call's arguments that its question shows."""

NO_FORM: JsonObject = {"type": "object", "properties": {}}
"""Accepting is the answer."""

_KEPT = {
    "string": ("minLength", "maxLength", "format", "enum"),
    "integer": ("minimum", "maximum"),
    "number": ("minimum", "maximum"),
    "boolean": (),
}
"""What MCP's forms can say of a field of each type; the rest is checked when the answer comes."""

_FORMATS = frozenset({"email", "uri", "date", "date-time"})


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question; without a `form` it can only be answered on its `page` (a path)."""

    asked: Asked
    message: str
    page: str
    form: JsonObject | None = None
    run: str = ""
    request: str = ""
    key: str = ANSWER

    def asked_in(self, state: CallState) -> CallState:
        """Return the state of a call of which this is asked now."""
        return replace(
            state,
            asked=self.asked,
            run=self.run or state.run,
            request=self.request,
            key=self.key,
            page=self.page,
        )


def question_of(
    error: ToolError, spec: ToolSpec, arguments: JsonObject, endpoint: Endpoint
) -> Question | None:
    """Return what a person is asked so that a call can go on; None where asking is no help.

    What another agent waits for is asked in that agent's conversation, and a variable that no
    package declares can be given by nobody.
    """
    match error:
        case ApprovalRequired():
            return _approval(error, spec, arguments, endpoint)
        case RunAsks():
            return _of_run(error)
        case MissingCredential() if not error.extra.get("undeclared"):
            return Question(
                asked="page", message=error.message, page=reverse("agents:credential_list")
            )
    return None


def form_of(schema: JsonSchema | None) -> JsonObject | None:
    """Return a schema as MCP's forms have them: one level of texts, numbers and yes or no.

    A field of another kind is left out where it has a default or is not required; else None is
    returned, for then the form cannot be filled in.
    """
    properties = (schema or {}).get("properties") or {}
    required = set((schema or {}).get("required") or ())
    fields: JsonObject = {}
    for name, told in properties.items():
        field = _field(told) if isinstance(told, dict) else None
        if field is not None:
            fields[name] = field
        elif name in required and not (isinstance(told, dict) and "default" in told):
            return None
    wanted = [name for name in fields if name in required and "default" not in fields[name]]
    return {**NO_FORM, "properties": fields, **({"required": wanted} if wanted else {})}


def elicitation(question: Question, state: CallState, *, site: str) -> types.ElicitRequest:
    """Return the question as MCP asks it: as a form, or as a page to visit where it has none."""
    message = "\n".join(filter(None, (state.problem, question.message)))
    params: types.ElicitRequestParams
    if question.form is None:
        url = site + question.page
        params = types.ElicitRequestURLParams(
            message=message, url=url, elicitation_id=f"{state.call_id}-{state.tries}"
        )
    else:
        params = types.ElicitRequestFormParams(message=message, requested_schema=question.form)
    return types.ElicitRequest(params=params)


def _approval(
    error: ToolError, spec: ToolSpec, arguments: JsonObject, endpoint: Endpoint
) -> Question:
    title = spec.title or spec.wire_name
    reason = str(error.extra.get("reason") or "")
    words = (f"Let “{title}” ({spec.wire_name}) run?", reason, arguments_told(arguments))
    return Question(
        asked="approval",
        message="\n".join(filter(None, words)),
        page=approvals_page(endpoint),
        form=NO_FORM,
    )


def arguments_told(arguments: JsonObject) -> str:
    """Return what a call sends, in words."""
    sent = json.dumps(arguments, ensure_ascii=False, indent=1)
    if len(sent) > MOST_ARGUMENTS:
        sent = f"{sent[:MOST_ARGUMENTS]}… ({len(sent):,} characters)"
    return f"Arguments: {sent}"


def approvals_page(endpoint: Endpoint) -> str:
    """Return the path of the page that says what is asked about, of the endpoint's agent."""
    slug = endpoint.agent.slug if endpoint.agent else ""
    return reverse("agents:agent_approvals", args=[slug]) if slug else reverse("agents:agent_list")


def _of_run(error: ToolError) -> Question:
    extra = error.extra
    words = filter(None, (str(extra["title"]), str(extra.get("words") or "")))
    form = form_of(extra.get("schema"))
    return Question(
        asked="page" if form is None else "run",
        message="\n".join(words),
        page=str(extra["page"]),
        form=form,
        run=str(extra["run"]),
        request=str(extra["request"]),
        key=str(extra.get("key") or ANSWER),
    )


def _field(told: Mapping[str, JsonValue]) -> JsonObject | None:
    kind = told.get("type")
    if not isinstance(kind, str) or kind not in _KEPT:
        return None
    said = {key: told[key] for key in ("title", "description", *_KEPT[kind]) if key in told}
    if said.get("format") not in _FORMATS:
        said.pop("format", None)
    choices = said.get("enum")
    if choices is not None and not all(isinstance(choice, str) for choice in choices):
        return None
    default = told.get("default")
    return {"type": kind, **said, **({"default": default} if default is not None else {})}
