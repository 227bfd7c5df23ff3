"""Show a saved sequence as a draft."""

from collections.abc import Iterable, Mapping

from config.lib.types import JsonObject, JsonValue
from registry.models import Tool
from registry.schema_forms import FormField
from sequences.forms.drafts import (
    APPROVAL,
    BESIDE,
    SAME_BRANCH,
    TOOL,
    Draft,
    Row,
    StepDraft,
    pretty,
)
from sequences.forms.static_values import text_from_static
from sequences.forms.step_tools import StepTool, tool_at


def draft_from_tool(tool: Tool, chosen: Mapping[str, StepTool]) -> Draft:
    """Return a saved sequence as a draft; `chosen` are the tools of its steps, by id."""
    draft = draft_from_definition(tool.definition or {}, chosen)
    draft.name, draft.description = tool.title, tool.description
    draft.visibility, draft.team = tool.visibility, str(tool.team_id or "")
    draft.scopes = " ".join(tool.required_scopes)
    draft.schema = pretty(tool.input_schema)
    return draft


def draft_from_definition(definition: JsonObject, chosen: Mapping[str, StepTool]) -> Draft:
    """Return a definition as a draft without a name, description and input schema."""
    steps = _branch_by_branch(definition.get("steps", ()))
    taken = {step.get("key") for step in steps}
    return Draft(
        max_runs=_text(definition.get("maxConcurrentRuns")),
        steps=[
            _step_draft(step, _tool(step, chosen), key=_key(step, number, taken), beside=beside)
            for number, (step, beside) in enumerate(zip(steps, _places(steps), strict=True), 1)
        ],
        final=_rows((definition.get("finalOutputMapping") or {}).items(), {}),
    )


def default_key(number: int) -> str:
    """Return the key of a step in a definition that gives it none; it is not written there."""
    return f"step_{number}"


def _key(step: JsonObject, number: int, taken: set[JsonValue]) -> str:
    """Return the step's key; empty where its default is another's, for a new one."""
    default = default_key(number)
    return step.get("key") or ("" if default in taken else default)


def _tool(step: JsonObject, chosen: Mapping[str, StepTool]) -> StepTool | None:
    return tool_at(chosen, step.get("toolToRunId") or "", _text(step.get("toolVersion")))


def _branch_by_branch(steps: Iterable[JsonObject]) -> list[JsonObject]:
    """Put the steps of one branch of a block next to one another, as the builder shows them.

    Branches know nothing of each other, so this changes nothing of what a run does.
    """
    blocks: list[tuple[str, list[JsonObject]]] = []
    for step in steps:
        group = (step.get("parallel") or {}).get("group", "")
        if group and blocks and blocks[-1][0] == group:
            blocks[-1][1].append(step)
        else:
            blocks.append((group, [step]))
    ordered: list[JsonObject] = []
    for _, block in blocks:
        branches: dict[str, list[JsonObject]] = {}
        for step in block:
            branches.setdefault((step.get("parallel") or {}).get("branch", ""), []).append(step)
        ordered += [step for branch in branches.values() for step in branch]
    return ordered


def _places(steps: list[JsonObject]) -> list[str]:
    places = []
    before: JsonObject = {}
    for step in steps:
        here = step.get("parallel") or {}
        if not here or here.get("group") != before.get("group"):
            places.append("")
        else:
            places.append(SAME_BRANCH if here.get("branch") == before.get("branch") else BESIDE)
        before = here
    return places


def _step_draft(step: JsonObject, tool: StepTool | None, *, key: str, beside: str) -> StepDraft:
    retry, loop = step.get("retry") or {}, step.get("forEach") or {}
    approval, parallel = step.get("approval") or {}, step.get("parallel") or {}
    fallback, form = step.get("fallback"), approval.get("inputSchema")
    return StepDraft(
        key=key,
        kind=APPROVAL if step.get("approval") is not None else TOOL,
        tool=tool.name if tool else step.get("toolToRunId") or "",
        version=_text(step.get("toolVersion")),
        title=step.get("title", ""),
        rows=_rows(step.get("inputMapping", {}).items(), tool.fields if tool else {}),
        when=step.get("when") or "",
        each=_row("", loop["items"], None) if loop else Row(),
        parallel=_text(loop.get("parallel")),
        max_items=_text(loop.get("maxItems")),
        beside=beside,
        group=parallel.get("group", ""),
        branch=parallel.get("branch", ""),
        success=step.get("outputDisplaySuccess", ""),
        failure=step.get("outputDisplayFailure", ""),
        continue_on_failure=step.get("continueOnFailure", False),
        fallback=text_from_static(fallback["value"], None) if fallback else "",
        store_as=step.get("storeOutputAs") or "",
        timeout=_text(step.get("timeoutSeconds")),
        attempts=_text(retry.get("attempts")),
        backoff=_text(retry.get("backoffSeconds")),
        factor=_text(retry.get("backoffFactor")),
        repeatable=step.get("repeatable", False),
        disabled=step.get("disabled", False),
        ask_title=approval.get("title", ""),
        ask_message=approval.get("message", ""),
        ask_schema=pretty(form) if form is not None else "",
        ask_rejected=approval.get("onRejected", ""),
        ask_expires=_text(approval.get("expiresAfterSeconds")),
    )


def _rows(mapping: Iterable[tuple[str, JsonObject]], fields: Mapping[str, FormField]) -> list[Row]:
    return [_row(name, source, fields.get(name)) for name, source in mapping]


def _row(name: str, source: JsonObject, field: FormField | None) -> Row:
    match source["source"]:
        case "initialInput":
            value = source.get("key") or ""
        case "previousStep":
            value = source["step"]
        case "static":
            value = text_from_static(source["value"], field)
        case "item":
            value = ""
        case _:
            value = source["value"]
    return Row(name=name, source=source["source"], value=value, path=source.get("path", ""))


def _text(value: JsonValue) -> str:
    """Return a number as it is typed; a whole one in full, however large."""
    if value is None:
        return ""
    return str(value) if isinstance(value, int) else f"{value:g}"
