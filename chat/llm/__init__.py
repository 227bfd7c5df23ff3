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
from chat.llm.knowledge import Facts, count_tokens, facts_of
from chat.llm.observed import observed

__all__ = [
    "Compacted",
    "Facts",
    "ModelEvent",
    "Notice",
    "Retried",
    "Switched",
    "TextDelta",
    "ToolCallDraft",
    "ToolCallReady",
    "Usage",
    "count_tokens",
    "embed",
    "facts_of",
    "observed",
    "stream",
    "warm_up",
]
