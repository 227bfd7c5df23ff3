"""What a call gave, in the shape in which MCP clients are told of it."""

import json
from collections.abc import Mapping

import mcp_types as types
from pydantic import TypeAdapter, ValidationError

from agents.mcp.files import file_blocks
from agents.mcp.wire import META, is_any_value, output_schema_of
from config.lib.types import JsonObject, JsonValue
from registry.errors import ToolError
from registry.media import media_blocks, without_media
from registry.models.tool import ToolKind
from registry.results import Failed, Succeeded, ToolResult
from registry.schemas import value_problems
from registry.specs import ToolSpec

_block: TypeAdapter[types.ContentBlock] = TypeAdapter(types.ContentBlock)


def call_result(spec: ToolSpec, result: ToolResult, version: str) -> types.CallToolResult:
    """Return the result of a call for a client of this protocol revision.

    An error of the tool is a result too, which a model can read and act on.
    """
    match result:
        case Failed():
            return failure(result.error, result.details)
        case Succeeded():
            return _success(spec, result, version)


def failure(
    error: ToolError, details: Mapping[str, JsonValue] | None = None
) -> types.CallToolResult:
    """Return an error as a result: what the tool itself said, else the message and the hint."""
    said = _passed((details or {}).get("content"))
    return types.CallToolResult(
        content=said or [_text(f"{error.message} {error.hint}".strip())],
        is_error=True,
        _meta={**_about(details or {}), f"{META}/error": error.as_dict()},
    )


def _success(spec: ToolSpec, result: Succeeded, version: str) -> types.CallToolResult:
    output, details = result.output, result.details or {}
    content = _passed(details.get("content")) or _content(output)
    content += file_blocks(details, call=str(result.invocation_id))
    meta: JsonObject = {**_about(details), f"{META}/invocation": str(result.invocation_id)}
    if run := details.get("run_id"):
        meta[f"{META}/run"] = run
    schema = output_schema_of(spec, version)
    if schema is not None and (problems := value_problems(schema, output)):
        # A client that holds results to the schema would throw an answer without structured
        # content away, and what was done with it; an error is read by all of them.
        told = "; ".join(f"{problem.path}: {problem.message}" for problem in problems[:3])
        words = f"{spec.wire_name} ran, but answered otherwise than its output schema says: {told}"
        return types.CallToolResult(content=[_text(words), *content], is_error=True, _meta=meta)
    # What another MCP server answered in structure goes on, whether or not it has a schema.
    passed_on = spec.kind == ToolKind.MCP and "content" in details
    if schema is None and not (passed_on and (isinstance(output, dict) or is_any_value(version))):
        return types.CallToolResult(content=content, _meta=meta)
    return types.CallToolResult(content=content, structured_content=output, _meta=meta)


def _content(output: JsonValue) -> list[types.ContentBlock]:
    """Return an answer as content: its blocks, or its text with the pictures and sounds in it."""
    if isinstance(output, dict) and output.keys() <= {"content", "isError"}:
        passed = _passed(output.get("content"))
        if passed is not None:
            return passed
    media = media_blocks(output)
    shown = without_media(output) if media else output
    text = shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False)
    return [_text(text), *(_passed(list(media)) or [])]


def _passed(blocks: JsonValue) -> list[types.ContentBlock] | None:
    """Return content blocks as they came; None where they are none."""
    if not isinstance(blocks, list):
        return None
    try:
        return [_block.validate_python(block, by_name=False) for block in blocks]
    except ValidationError:
        return None


def _about(details: Mapping[str, JsonValue]) -> JsonObject:
    """Return what another MCP server said of its answer; what we say of it has names of our own."""
    meta = details.get("meta")
    if not isinstance(meta, dict):
        return {}
    return {name: said for name, said in meta.items() if not name.startswith(f"{META}/")}


def _text(text: str) -> types.TextContent:
    return types.TextContent(text=text)
