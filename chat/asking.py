"""Ask a turn's model: again when it is busy, another one when it fails, and with less when it is
too much."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Sequence
from typing import Any, Protocol

from django.conf import settings
from tenacity import (
    AsyncRetrying,
    DoAttempt,
    DoSleep,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    wait_exponential_jitter,
)
from tenacity.wait import wait_base

from agents.models.agent import ToolProtocol
from chat import llm, text_protocol
from chat.budget import tokens_of_text
from chat.errors import ContextTooLong, ModelError, ToolsRefused
from chat.fitting import FRAME, Fitted, fit, texts_of
from chat.llm import Compacted, ModelEvent, Notice, Retried, Switched, TextDelta, ToolCallReady
from chat.llm.client import Patience
from chat.steps import Step
from config.lib.types import JsonObject

REFITS = 2
"""How often a request is made shorter because the provider says that it is too long."""

REFIT_TO = 0.75
"""To which part of what was sent."""


class Log(Protocol):
    """Keeps what was asked; `chat.steps.StepLog` of a turn."""

    async def keep(self, step: Step) -> None: ...


class Asking:
    """Asks the models of one turn; it is a `loop.Model`.

    `models` are asked in order, each when the one before it has failed for good; the one that
    answered stays for the rest of the turn. `protocol` is one of `ToolProtocol`. Every request is
    kept in `log`.
    """

    def __init__(self, models: Sequence[str], protocol: str, log: Log) -> None:
        self._models = list(dict.fromkeys(models))
        self._protocol = protocol
        self._log = log
        self._in_words: set[str] = set()
        self._rooms: dict[str, _Room] = {}
        self._left_out: tuple[int, int] = (0, 0)

    async def __call__(
        self,
        messages: Sequence[JsonObject],
        tools: Sequence[JsonObject],
        *,
        answer_only: bool,
    ) -> AsyncIterator[ModelEvent | Notice]:
        messages = tuple(messages)  # the loop's own list grows
        step = Step(self._models[0], tools, messages)
        request = _Request(messages, tools, answer_only, step)
        try:
            async for event in self._by_any(request):
                step.hear(event)
                yield event
        except ModelError as error:
            step.error = error.as_dict()
            raise
        finally:
            await self._log.keep(step)

    async def _by_any(self, request: "_Request") -> AsyncIterator[ModelEvent | Notice]:
        """Ask the models in order."""
        while True:
            model = request.step.model = self._models[0]
            try:
                async for event in self._by(model, request):
                    yield event
                return
            except ModelError as error:
                if request.spoke or not error.another_may or len(self._models) == 1:
                    raise
                self._models.pop(0)
                yield Switched(model, self._models[0], error.code)

    async def _by(self, model: str, request: "_Request") -> AsyncIterator[ModelEvent | Notice]:
        """Ask one model, in the way and at the length that it takes."""
        room = await self._room(model)
        limit = room.limit(request.tools)
        refits = 0
        while True:
            fitted = await room.fitted(request.messages, limit)
            if notice := self._noticed(fitted, request.step):
                yield notice
            in_words = model in self._in_words
            try:
                async for event in self._tried(model, request, fitted.messages, in_words=in_words):
                    yield event
                return
            except ToolsRefused:
                if in_words or self._protocol == ToolProtocol.NATIVE:
                    raise
                self._in_words.add(model)
            except ContextTooLong:
                if request.spoke or refits == REFITS:
                    raise
                refits += 1
                limit = int(await room.count_all(fitted.messages) * REFIT_TO)

    async def _tried(
        self, model: str, request: "_Request", messages: Sequence[JsonObject], *, in_words: bool
    ) -> AsyncIterator[ModelEvent | Notice]:
        """Ask a model, and again while it may pass and nothing was passed on."""
        step = request.step
        retrying = _retrying()
        retrying.begin()
        state = RetryCallState(retrying, None, (), {})
        while True:
            do = await retrying.iter(retry_state=state)
            if isinstance(do, DoAttempt):
                try:
                    async for event in _once(model, request, messages, in_words=in_words):
                        request.spoke |= isinstance(event, TextDelta | ToolCallReady)
                        yield event
                except ModelError as error:
                    step.tried(model, error.code)
                    if request.spoke:
                        raise
                    state.set_exception(sys.exc_info())  # type: ignore[arg-type]
                else:
                    step.tried(model)
                    return
            elif isinstance(do, DoSleep):
                code = step.attempts[-1]["error"]
                yield Retried(model, code, round(do * 1000))
                state.prepare_for_next_attempt()
                await asyncio.sleep(do)

    async def _room(self, model: str) -> "_Room":
        """Return how much a model reads, and note the way in which it is asked."""
        if model not in self._rooms:
            facts = await llm.facts_of(model)
            self._rooms[model] = _Room(model, facts.window or settings.MODEL_CONTEXT_TOKENS)
            if self._protocol == ToolProtocol.TEXT or (
                self._protocol == ToolProtocol.AUTO and not facts.takes_tools
            ):
                self._in_words.add(model)
        return self._rooms[model]

    def _noticed(self, fitted: Fitted, step: Step) -> Compacted | None:
        """Return the news that more, or less, is left out than in the request before."""
        step.compaction = told = fitted.compaction
        left_out = (told["dropped_turns"], told["dropped_results"]) if told else (0, 0)
        news = told is not None and left_out != self._left_out
        self._left_out = left_out
        return Compacted(told) if told and news else None


class _Request:
    """What is asked, and whether some of the answer was passed on."""

    def __init__(
        self,
        messages: Sequence[JsonObject],
        tools: Sequence[JsonObject],
        answer_only: bool,
        step: Step,
    ) -> None:
        self.messages = messages
        self.tools = tools
        self.answer_only = answer_only
        self.step = step
        self.spoke = False


class _Room:
    """How much a model reads at once, and how it counts."""

    def __init__(self, model: str, window: int) -> None:
        self._model = model
        self._window = window - min(settings.MODEL_ANSWER_TOKENS, window // 4)
        self._counted: dict[str, int] = {}

    def limit(self, tools: Sequence[JsonObject]) -> int:
        """Return the tokens that are left for messages beside some tools."""
        texts = [json.dumps(tool, ensure_ascii=False) for tool in tools]
        # a token is at least a byte; where bytes already fit, nothing has to be counted
        size = sum(len(text.encode("utf-8", "replace")) for text in texts)
        if size >= self._window // 16:
            size = sum(tokens_of_text(self._model, text) for text in texts)
        return self._window - size

    async def fitted(self, messages: Sequence[JsonObject], limit: int) -> Fitted:
        """Return the messages so that they have at most `limit` tokens, or raise ContextTooLong."""
        if sum(map(_most_tokens, messages)) <= limit:
            return Fitted(list(messages))
        return await asyncio.to_thread(fit, messages, limit=limit, count=self._count)

    async def count_all(self, messages: Sequence[JsonObject]) -> int:
        """Return the tokens of some messages."""
        return await asyncio.to_thread(lambda: sum(map(self._count, messages)))

    def _count(self, message: JsonObject) -> int:
        return FRAME + sum(map(self._count_text, texts_of(message)))

    def _count_text(self, text: str) -> int:
        if text not in self._counted:
            self._counted[text] = llm.count_tokens(self._model, text)
        return self._counted[text]


def _most_tokens(message: JsonObject) -> int:
    return FRAME + sum(len(text.encode("utf-8", "replace")) for text in texts_of(message))


async def _once(
    model: str, request: _Request, messages: Sequence[JsonObject], *, in_words: bool
) -> AsyncIterator[ModelEvent]:
    """Ask a model once."""
    tools: Sequence[JsonObject] = request.tools
    if in_words:
        messages = text_protocol.told(messages, tools, answer_only=request.answer_only)
        tools = ()
    request.step.sent = messages
    request.step.protocol = "text" if in_words else "native"
    patience = Patience(
        settings.MODEL_FIRST_TOKEN_SECONDS,
        settings.MODEL_CHUNK_SECONDS,
        settings.MODEL_TOTAL_SECONDS,
    )
    answer = llm.stream(model, messages, tools, answer_only=request.answer_only, patience=patience)
    events = llm.observed(model, answer)
    async for event in text_protocol.heard(events) if in_words else events:
        yield event


class _Wait(wait_base):
    """Waits as long as the provider asks, else twice as long each time, with some chance in it."""

    def __init__(self) -> None:
        first, most = settings.MODEL_RETRY_SECONDS, settings.MODEL_RETRY_MOST_SECONDS
        self._growing = wait_exponential_jitter(multiplier=first, max=most, jitter=first)

    def __call__(self, retry_state: RetryCallState) -> float:
        error: Any = retry_state.outcome.exception() if retry_state.outcome else None
        asked: float | None = error.retry_after
        return self._growing(retry_state) if asked is None else asked


def _retrying() -> AsyncRetrying:
    return AsyncRetrying(
        stop=stop_after_attempt(settings.MODEL_TRIES),
        wait=_Wait(),
        retry=retry_if_exception(_worth_waiting),
        reraise=True,
    )


def _worth_waiting(error: BaseException) -> bool:
    """Tell whether the same model may answer in a moment; one that asks for longer is let be."""
    if not isinstance(error, ModelError) or not error.passing:
        return False
    return (error.retry_after or 0) <= settings.MODEL_RETRY_MOST_SECONDS
