"""Ask a model through LiteLLM."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from types import ModuleType
from typing import Any

from chat import demo, errors
from chat.llm import library, problems
from chat.llm.calls import Calls
from chat.llm.events import ModelEvent, TextDelta, Usage
from config.lib.jsontext import clean_text
from config.lib.types import JsonObject


@dataclass(frozen=True)
class Patience:
    """How long an answer may take, in seconds: its start, each further piece, and all of it."""

    first: float = 120
    between: float = 60
    total: float = 600


PATIENT = Patience()

MOST_CHARACTERS = 1_000_000
"""Of one answer, its words and its calls' arguments; far more than any model writes in sense."""

MOST_TOKENS = 10**9
"""Of one answer; a larger count is none, and a year of such answers still fits its column."""

MOST_COST = Decimal(10_000)

_END: Any = object()


async def stream(
    model: str,
    messages: Sequence[JsonObject],
    tools: Sequence[JsonObject],
    *,
    answer_only: bool = False,
    patience: Patience = PATIENT,
) -> AsyncIterator[ModelEvent]:
    """Ask `model` (a LiteLLM model string) once and yield its answer as it comes.

    `messages` and `tools` have the shape of OpenAI's chat completions. Words come as they are
    said; tool calls come whole, after the last word, with drafts of those that take long; usage
    comes last. What a model thinks aloud is not part of its answer. `answer_only` forbids tool
    calls. Raises a ModelError that says what to do.
    """
    litellm = await asyncio.to_thread(library.load)
    calls = Calls()
    usage: Usage | None = None
    ended = ""
    began = False
    size = 0
    clock = _Clock(patience)
    try:
        async with clock.next():
            chunks = await litellm.acompletion(
                model=model,
                messages=list(messages),
                stream=True,
                stream_options={"include_usage": True},
                timeout=patience.total,
                num_retries=0,
                max_retries=0,
                drop_params=True,
                # without this LiteLLM imports its MCP proxy for every call that has tools
                _skip_mcp_handler=True,
                **_tool_options(tools, answer_only=answer_only),
            )
            chunk = await anext(chunks, _END)
        while chunk is not _END:
            began = True
            if counted := getattr(chunk, "usage", None):
                usage = _counted(litellm, model, counted)
            for choice in chunk.choices[:1]:
                ended = choice.finish_reason or ended
                for draft in calls.add(choice.delta.tool_calls or ()):
                    yield draft
                if text := choice.delta.content:
                    size += len(text)
                    yield TextDelta(clean_text(text))
            _require_end(size + calls.size, model)
            clock.heard()
            async with clock.next():
                chunk = await anext(chunks, _END)
    except errors.AnswerTooLong:
        raise
    except Exception as problem:
        raise problems.told(litellm, problem, model, began=began, with_tools=bool(tools)) from None
    ready = calls.ready()
    broken = _how_it_broke(ended, model, empty=not size and not ready)
    for call in () if broken else ready:
        yield call
    if usage is not None:
        yield usage
    if broken:
        raise broken


def embed(model: str, texts: Sequence[str], *, seconds: float) -> list[list[float]]:
    """Return the vector of each text by `model` (LiteLLM's string of an embedding model).

    Waits for `seconds` at the most, in a thread without an event loop: LiteLLM's own synchronous
    way would open one and leave it open. Raises a ModelError that says what to do.
    """
    litellm = library.load()
    try:
        answer = asyncio.run(
            litellm.aembedding(
                model=model, input=list(texts), timeout=seconds, num_retries=0, max_retries=0
            )
        )
    except Exception as problem:
        raise problems.told(litellm, problem, model, began=False) from None
    rows = sorted(answer.data, key=lambda row: row["index"])
    return [row["embedding"] for row in rows]


def warm_up() -> None:
    """Import LiteLLM now (seconds), so that the first message does not wait for it."""
    library.load()


class _Clock:
    """Bounds each wait for the provider; the time that the listener takes does not count."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._ends = time.monotonic() + patience.total
        self._most = patience.first

    def next(self) -> asyncio.Timeout:
        """Bound the wait for the next piece."""
        return asyncio.timeout(max(0.0, min(self._most, self._ends - time.monotonic())))

    def heard(self) -> None:
        """Take note that the answer is under way."""
        self._most = self._patience.between


def _require_end(size: int, model: str) -> None:
    """Raise AnswerTooLong when an answer of so many characters is to be given up."""
    if size > MOST_CHARACTERS:
        raise errors.AnswerTooLong(model=model)


def _how_it_broke(ended: str, model: str, *, empty: bool) -> errors.ModelError | None:
    """Return what is wrong with an answer that ended so; `ended` is empty where it broke off."""
    if not ended:
        return errors.ModelInterrupted(model=model)
    if ended == "length":
        return errors.AnswerCutOff(model=model)
    if ended == "content_filter":
        return errors.AnswerFiltered(model=model)
    return errors.AnswerEmpty(model=model) if empty else None


def _counted(litellm: ModuleType, model: str, counted: Any) -> Usage:
    """Return what the provider counted, priced where LiteLLM's list has the model."""
    details = getattr(counted, "prompt_tokens_details", None)
    cost: Decimal | None = None
    if not model.startswith(f"{demo.PROVIDER}/"):
        with contextlib.suppress(Exception):  # it has many ways to say that it knows no price
            # its list, which comes with it, says what a token costs
            cost = Decimal(str(sum(litellm.cost_per_token(model=model, usage_object=counted))))
    if cost is not None and not 0 <= cost <= MOST_COST:
        cost = None
    return Usage(
        _tokens(counted.prompt_tokens),
        _tokens(counted.completion_tokens),
        _tokens(getattr(details, "cached_tokens", None)),
        cost.quantize(Decimal("0.000001")) if cost is not None else None,
    )


def _tokens(count: object) -> int:
    """Return a provider's count; what cannot be one counts as nothing."""
    return int(count) if isinstance(count, int | float) and 0 <= count <= MOST_TOKENS else 0


def _tool_options(tools: Sequence[JsonObject], *, answer_only: bool) -> JsonObject:
    if not tools:
        return {}
    return {"tools": list(tools), "tool_choice": "none" if answer_only else "auto"}
