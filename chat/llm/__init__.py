"""Talk to models: the only package that knows LiteLLM."""

from chat.llm.client import embed, stream, warm_up
from chat.llm.events import (
    Compacted,
    ModelEvent,
    Notice,
    Retried,
    Switched,
    TextDelta,
    ToolCallDraft,
    ToolCallReady,
    Usage,
)
from chat.llm.knowledge import context_window, count_tokens, takes_tools

__all__ = [
    "Compacted",
    "ModelEvent",
    "Notice",
    "Retried",
    "Switched",
    "TextDelta",
    "ToolCallDraft",
    "ToolCallReady",
    "Usage",
    "context_window",
    "count_tokens",
    "embed",
    "stream",
    "takes_tools",
    "warm_up",
]
