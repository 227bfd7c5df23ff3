"""What comes from a model, in the order in which it comes."""

from dataclasses import dataclass
from decimal import Decimal

from config.lib.types import JsonObject


@dataclass(frozen=True)
class TextDelta:
    """Some more words of the answer."""

    text: str


@dataclass(frozen=True)
class ToolCallDraft:
    """A tool call that is still being written; `size` counts the characters of its arguments."""

    id: str
    name: str
    size: int


@dataclass(frozen=True)
class ToolCallReady:
    """A complete tool call; `arguments` is the model's own text, JSON if it kept to the rules."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class Usage:
    """Tokens of one model call or several, as the provider counts them.

    `cached_tokens` are those of the input that it had read before; `cost` is in US dollars, None
    where the price of the model is not known.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: Decimal | None = Decimal(0)

    def __add__(self, other: "Usage") -> "Usage":
        known = self.cost is not None and other.cost is not None
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.cost + other.cost if known else None,  # type: ignore[operator]
        )

    def as_json(self) -> JsonObject:
        """Return what a turn keeps; `cached_tokens` only where there are some."""
        told = {"input_tokens": self.input_tokens, "output_tokens": self.output_tokens}
        return {**told, "cached_tokens": self.cached_tokens} if self.cached_tokens else told


@dataclass(frozen=True)
class Retried:
    """A model did not answer and is asked again after `waits_ms`; `error` is the problem's code."""

    model: str
    error: str
    waits_ms: int


@dataclass(frozen=True)
class Switched:
    """A model failed for good and the next one is asked; `error` is the problem's code."""

    model: str
    to: str
    error: str


@dataclass(frozen=True)
class Compacted:
    """Something was left out of what the model is told, as `ModelStep.compaction` has it."""

    told: JsonObject


ModelEvent = TextDelta | ToolCallDraft | ToolCallReady | Usage
"""What one request brings."""

Notice = Retried | Switched | Compacted
"""What happens round a request."""
