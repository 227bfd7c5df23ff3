"""The model `demo/offline`: no network, no key, always the same answer to the same message.

It knows no language. It compares the words of a message with the tools it is offered, fills in a
tool's arguments by their schema, and tells the results. Enough to see the whole product at work.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence

from chat.demo.model import Reply, reply_to
from config.lib.types import JsonObject

PROVIDER = "demo"
PAUSE_SECONDS = 0.012
"""Between two words, so that one sees the answer come."""

_WORD = re.compile(r"\s*\S+|\s+$")


def is_demo(model: str) -> bool:
    """Tell whether a LiteLLM model string names the demo model."""
    return model.partition("/")[0] == PROVIDER


async def chunks(
    messages: Sequence[JsonObject], tools: Sequence[JsonObject]
) -> AsyncIterator[JsonObject]:
    """Yield the answer to a conversation as LiteLLM's generic streaming chunks."""
    reply = reply_to(messages, tools)
    for word in _WORD.findall(reply.text):
        yield _chunk(text=word)
        await asyncio.sleep(PAUSE_SECONDS)
    for index, (name, arguments) in enumerate(reply.calls):
        call_id = f"demo_{len(messages)}_{index}"
        function = {"name": name, "arguments": arguments}
        yield _chunk(
            tool_use={"id": call_id, "type": "function", "index": index, "function": function}
        )
    reason = "tool_calls" if reply.calls else "stop"
    yield _chunk(finish_reason=reason, is_finished=True, usage=_usage(messages, reply))


def _chunk(**fields: object) -> JsonObject:
    empty = {"text": "", "index": 0, "is_finished": False, "finish_reason": None}
    return {**empty, "tool_use": None, "usage": None, **fields}


def _usage(messages: Sequence[JsonObject], reply: Reply) -> JsonObject:
    """Count words where a real provider counts tokens."""
    read = sum(len(str(message.get("content") or "").split()) for message in messages)
    said = len(reply.text.split()) + sum(len(text.split()) for _, text in reply.calls)
    return {"prompt_tokens": read, "completion_tokens": said, "total_tokens": read + said}
