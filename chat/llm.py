"""Talk to a model: the only module that knows LiteLLM."""

import asyncio
import contextlib
import logging
import os
import re
import warnings
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from http import HTTPStatus
from types import ModuleType
from typing import Any
from uuid import uuid4

from chat import demo, errors
from config.lib.jsontext import clean_text
from config.lib.masking import mask
from config.lib.types import JsonObject

TIMEOUT_SECONDS = 300
LONGEST_PROVIDER_MESSAGE = 300
LONGEST_CALL_ID = 100
"""Characters of `Message.tool_call_id`."""

_KEY_SHAPE = re.compile(r"\b(?:sk|pk|rk|key|api)[-_][A-Za-z0-9*_-]{6,}|Bearer\s+\S+", re.IGNORECASE)
_SECRET_NAME = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD)S?$")


@dataclass(frozen=True)
class TextDelta:
    """Some more words of the answer."""

    text: str


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


ModelEvent = TextDelta | ToolCallReady | Usage


async def stream(
    model: str,
    messages: Sequence[JsonObject],
    tools: Sequence[JsonObject],
    *,
    answer_only: bool = False,
) -> AsyncIterator[ModelEvent]:
    """Ask `model` (a LiteLLM model string) and yield its answer as it comes.

    `messages` and `tools` have the shape of OpenAI's chat completions. Words come as they are
    said; tool calls come whole, after the last word; usage comes last. `answer_only` forbids tool
    calls. Raises a ModelError that says what to do.
    """
    litellm = await asyncio.to_thread(_litellm)
    calls = _Calls()
    began = finished = False
    try:
        chunks = await litellm.acompletion(
            model=model,
            messages=list(messages),
            stream=True,
            stream_options={"include_usage": True},
            timeout=TIMEOUT_SECONDS,
            num_retries=0,
            max_retries=0,
            drop_params=True,
            # without this LiteLLM imports its MCP proxy for every call that has tools
            _skip_mcp_handler=True,
            **_tool_options(tools, answer_only=answer_only),
        )
        usage: Usage | None = None
        async for chunk in chunks:
            began = True
            if counted := getattr(chunk, "usage", None):
                usage = _counted(litellm, model, counted)
            for choice in chunk.choices[:1]:
                finished = finished or bool(choice.finish_reason)
                calls.add(choice.delta.tool_calls or ())
                if text := choice.delta.content:
                    yield TextDelta(clean_text(text))
    except Exception as problem:
        raise _told(litellm, problem, model, began=began) from None
    if not finished:
        raise errors.ModelInterrupted(model=model)
    for call in calls.ready():
        yield call
    if usage is not None:
        yield usage


def embed(model: str, texts: Sequence[str], *, seconds: float) -> list[list[float]]:
    """Return the vector of each text by `model` (LiteLLM's string of an embedding model).

    Waits for `seconds` at the most, in a thread without an event loop: LiteLLM's own synchronous
    way would open one and leave it open. Raises a ModelError that says what to do.
    """
    litellm = _litellm()
    try:
        answer = asyncio.run(
            litellm.aembedding(
                model=model, input=list(texts), timeout=seconds, num_retries=0, max_retries=0
            )
        )
    except Exception as problem:
        raise _told(litellm, problem, model, began=False) from None
    rows = sorted(answer.data, key=lambda row: row["index"])
    return [row["embedding"] for row in rows]


def count_tokens(model: str, text: str) -> int:
    """Return the tokens of a text by the model's tokenizer, without asking anybody.

    LiteLLM brings OpenAI's and Anthropic's along; models of others, whose tokenizers it would
    fetch, are counted by OpenAI's, which is near enough for a budget.
    """
    litellm = _litellm()
    fetched = litellm.utils.huggingface_tokenizer_kind(model) not in {None, "anthropic"}
    counted: int = litellm.token_counter(model="" if fetched else model, text=text)
    return counted


def warm_up() -> None:
    """Import LiteLLM now (seconds), so that the first message does not wait for it."""
    _litellm()


def _counted(litellm: ModuleType, model: str, counted: Any) -> Usage:
    """Return what the provider counted, priced where LiteLLM's list has the model."""
    details = getattr(counted, "prompt_tokens_details", None)
    cost: Decimal | None = None
    if not model.startswith(f"{demo.PROVIDER}/"):
        with contextlib.suppress(Exception):  # it has many ways to say that it knows no price
            # its list, which comes with it, says what a token costs
            cost = Decimal(str(sum(litellm.cost_per_token(model=model, usage_object=counted))))
    return Usage(
        counted.prompt_tokens or 0,
        counted.completion_tokens or 0,
        getattr(details, "cached_tokens", None) or 0,
        cost.quantize(Decimal("0.000001")) if cost is not None else None,
    )


def _tool_options(tools: Sequence[JsonObject], *, answer_only: bool) -> JsonObject:
    if not tools:
        return {}
    return {"tools": list(tools), "tool_choice": "none" if answer_only else "auto"}


@dataclass
class _Calls:
    """Puts tool calls together from the pieces in which providers send them."""

    _parts: list[dict[str, str]] = field(default_factory=list)
    _by_index: dict[int, int] = field(default_factory=dict)

    def add(self, pieces: Sequence[Any]) -> None:
        for piece in pieces:
            part = self._part(piece.index or 0, piece.id or "")
            part["id"] = part["id"] or piece.id or ""
            part["name"] += piece.function.name or ""
            part["arguments"] += piece.function.arguments or ""

    def ready(self) -> list[ToolCallReady]:
        return [
            ToolCallReady(
                id=clean_text(part["id"])[:LONGEST_CALL_ID] or f"call_{uuid4().hex}",
                name=clean_text(part["name"]),
                arguments=clean_text(part["arguments"]),
            )
            for part in self._parts
        ]

    def _part(self, index: int, call_id: str) -> dict[str, str]:
        place = self._by_index.get(index)
        # some providers number every call 0 and tell them apart by id only
        if place is None or (call_id and self._parts[place]["id"] not in {"", call_id}):
            place = self._by_index[index] = len(self._parts)
            self._parts.append({"id": "", "name": "", "arguments": ""})
        return self._parts[place]


@cache
def _litellm() -> ModuleType:
    """Import LiteLLM quietly: no price list from the network, no advice on the console."""
    warnings.filterwarnings("ignore", message="Accessing the 'model_(computed_)?fields'")
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    import litellm

    litellm.telemetry = False
    litellm.suppress_debug_info = True
    # of embeddings, where it takes a 0 for “not said”
    litellm.DEFAULT_MAX_RETRIES = 0  # type: ignore[attr-defined]
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL)

    class Demo(litellm.CustomLLM):  # type: ignore[misc, name-defined]
        """The model `demo/offline`."""

        async def astreaming(
            self, *args: Any, messages: list[JsonObject], optional_params: JsonObject, **kwargs: Any
        ) -> AsyncIterator[JsonObject]:
            async for chunk in demo.chunks(messages, _callable_tools(optional_params)):
                yield chunk

    litellm.custom_provider_map = [{"provider": demo.PROVIDER, "custom_handler": Demo()}]
    module: ModuleType = litellm
    return module


def _callable_tools(options: JsonObject) -> list[JsonObject]:
    return [] if options.get("tool_choice") == "none" else options.get("tools") or []


def _told(litellm: ModuleType, problem: Exception, model: str, *, began: bool) -> errors.ModelError:
    """Return the ModelError for what LiteLLM raised, without the provider's secrets."""
    known = litellm.exceptions
    table: tuple[tuple[Any, type[errors.ModelError]], ...] = (
        (known.ContextWindowExceededError, errors.ContextTooLong),
        ((known.AuthenticationError, known.PermissionDeniedError), errors.ModelUnauthorised),
        ((known.NotFoundError, known.LiteLLMUnknownProvider), errors.ModelUnknown),
        (known.RateLimitError, errors.ModelRateLimited),
        ((known.Timeout, known.APIConnectionError), errors.ModelUnreachable),
        (known.MidStreamFallbackError, errors.ModelInterrupted),
        ((known.BadRequestError, known.UnprocessableEntityError), errors.ModelRefusedRequest),
    )
    kind = next((ours for theirs, ours in table if isinstance(problem, theirs)), None)
    # some refusals come without a class of their own
    if getattr(problem, "status_code", None) == HTTPStatus.FORBIDDEN:
        kind = errors.ModelUnauthorised
    elif "LLM Provider NOT provided" in str(problem):
        kind = errors.ModelUnknown
    elif "Connection error" in str(problem):
        kind = errors.ModelUnreachable
    if began:
        kind = errors.ModelInterrupted
    kind = kind or errors.ModelUnavailable
    summary = (kind.__doc__ or "").rstrip(".")
    return kind(f"{summary} ({model}).", model=model, provider_says=_provider_words(problem))


def _provider_words(problem: Exception) -> str:
    """Return the start of the provider's own message, with all that looks like a key masked."""
    words = clean_text(getattr(problem, "message", "") or str(problem))
    secrets = [value for name, value in os.environ.items() if _SECRET_NAME.search(name)]
    lines = _KEY_SHAPE.sub("•••", str(mask(words, secrets))).strip().splitlines() or [""]
    return lines[0][:LONGEST_PROVIDER_MESSAGE]
