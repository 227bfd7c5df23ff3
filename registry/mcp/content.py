"""What a server answers, as a value for programs and as content for people."""

from mcp_types import CallToolResult

from config.lib.types import JsonObject, JsonValue
from registry.errors import ToolFailed

LONGEST_MESSAGE = 4000


def answer_of(result: CallToolResult) -> tuple[JsonValue, JsonObject | None]:
    """Return `(value, details)` of an answer; raises ToolFailed when it says `isError`.

    The value is the structured content; without one, the text of an answer that is nothing but
    one text; else `{content: […], isError: false}` with the content blocks as MCP has them.
    `details.content` has the blocks wherever the value does not.
    """
    whole = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    blocks: list[JsonObject] = whole.get("content", [])
    if result.is_error:
        raise ToolFailed(_words_of(blocks), details={"content": blocks} if blocks else None)
    # An answer may be structured and null, which is not the same as not structured.
    if "structured_content" in result.model_fields_set and (
        result.structured_content is not None or not blocks
    ):
        return result.structured_content, {"content": blocks} if blocks else None
    if len(blocks) == 1 and blocks[0].get("type") == "text":
        return blocks[0]["text"], None
    return {"content": blocks, "isError": False}, None


def _words_of(blocks: list[JsonObject]) -> str:
    texts = [str(block["text"]) for block in blocks if block.get("type") == "text"]
    return "\n".join(texts).strip()[:LONGEST_MESSAGE] or "The tool failed without a message."
