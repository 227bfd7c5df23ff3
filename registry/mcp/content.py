"""What a server answers, as a value for programs and as content for people."""

from mcp_types import CallToolResult

from config.lib.jsontext import storable
from config.lib.types import JsonObject, JsonValue
from registry.errors import ToolFailed

LONGEST_MESSAGE = 4000


def answer_of(result: CallToolResult) -> tuple[JsonValue, JsonObject | None]:
    """Return `(value, details)` of an answer; raises ToolFailed when it says `isError`.

    The value is the structured content; without one, the text of an answer that is nothing but
    one text; else `{content: […], isError: false}` with the content blocks as MCP has them.
    `details.content` has the blocks wherever the value does not, `details.meta` what the server
    says of its answer besides.
    """
    whole = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    blocks: list[JsonObject] = whole.get("content", [])
    meta = {name: said for name, said in (result.meta or {}).items() if not _is_of_mcp(name)}
    about: JsonObject = {"meta": storable(meta)} if meta else {}
    told = {"content": blocks, **about} if blocks else about
    if result.is_error:
        raise ToolFailed(_words_of(blocks), details=told or None)
    # An answer may be structured and null, which is not the same as not structured.
    if "structured_content" in result.model_fields_set and (
        result.structured_content is not None or not blocks
    ):
        return result.structured_content, told or None
    if len(blocks) == 1 and blocks[0].get("type") == "text":
        return blocks[0]["text"], about or None
    return {"content": blocks, "isError": False}, about or None


def _is_of_mcp(name: str) -> bool:
    """Say whether a name in `_meta` is one that MCP keeps for itself: of the one connection."""
    prefix, slash, _ = name.rpartition("/")
    labels = prefix.split(".")
    return bool(slash) and any(label in {"modelcontextprotocol", "mcp"} for label in labels[:2])


def _words_of(blocks: list[JsonObject]) -> str:
    texts = [str(block["text"]) for block in blocks if block.get("type") == "text"]
    return "\n".join(texts).strip()[:LONGEST_MESSAGE] or "The tool failed without a message."
