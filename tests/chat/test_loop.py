"""The loop by itself: a model and tools that are given, no database and no provider."""

import asyncio
from collections.abc import Sequence

import pytest

from chat import loop
from chat.answers import Answer
from chat.calls import CallEnded, CallPaused, CallProgressed, run_calls
from chat.errors import ModelLoops, StepLimitReached
from chat.llm import Retried, TextDelta, ToolCallReady, Usage
from chat.loop import Begun, Finished, Paused, Said
from chat.pauses import Ask, Pause


def call(place: int = 0, arguments: str = "{}", name: str = "tool") -> ToolCallReady:
    return ToolCallReady(f"call_{place}", name, arguments)


class Script:
    """Says one message after the other; keeps what it was told."""

    def __init__(self, *messages: Sequence) -> None:
        self.messages = list(messages)
        self.told: list[list] = []

    async def __call__(self, messages, tools, *, answer_only):
        self.told.append(list(messages))
        for event in self.messages.pop(0):
            yield event


class Tools:
    """Answers each call as `outcome` says, after a note of progress."""

    def __init__(self, outcome) -> None:
        self.outcome = outcome
        self.given: list = []

    def schemas(self):
        return []

    async def call(self, call, arguments, progress):
        self.given.append(arguments)
        progress({"part": 1})
        await asyncio.sleep(0)
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


DONE = Answer(status="succeeded", value=1)
PAUSE = Pause((Ask(kind="question", tool="ask_user", tool_id=None, asked={"question": "Which?"}),))


def events_of(model: Script, tools: Tools, **more):
    async def listen():
        return [event async for event in loop.run([], model=model, tools=tools, **more)]

    return asyncio.run(listen())


def kinds(events) -> list[str]:
    return [type(event).__name__ for event in events]


def test_words_a_call_with_progress_and_an_answer():
    model = Script(
        [Retried("m", "model_timeout", 5), TextDelta("Hm. "), call(), Usage(1, 2)],
        [TextDelta("Done."), Usage(3, 4)],
    )
    tools = Tools(DONE)
    events = events_of(model, tools)
    assert kinds(events) == [
        *("Retried", "TextDelta", "Usage", "Said", "CallStarted", "CallProgressed"),
        *("CallEnded", "TextDelta", "Usage", "Said", "Finished"),
    ]
    assert events[-1] == Finished(Usage(4, 6))
    assert [row["role"] for row in model.told[1]] == ["assistant", "tool"]


@pytest.mark.parametrize("arguments", ["", "  \n"])
def test_a_call_without_arguments_is_a_call_with_none(arguments):
    tools = Tools(DONE)
    events_of(Script([call(arguments=arguments)], [TextDelta("Done.")]), tools)
    assert tools.given == [{}]


@pytest.mark.parametrize("arguments", ["[1]", "1", "null", '"{}"', "{", "[" * 100_000])
def test_arguments_that_are_no_object_never_reach_the_tool(arguments):
    tools = Tools(DONE)
    model = Script([call(arguments=arguments)], [TextDelta("Done.")])
    events = events_of(model, tools)
    ended = next(event for event in events if isinstance(event, CallEnded))
    assert ended.answer.value["code"] == "invalid_arguments"
    assert tools.given == []
    assert model.told[1][0]["tool_calls"][0]["function"]["arguments"] == "{}"
    assert loop.readable(arguments) == arguments


def test_calls_of_one_id_are_told_apart():
    events = events_of(Script([call(), call()], [TextDelta("Done.")]), Tools(DONE))
    said = next(event for event in events if isinstance(event, Said))
    assert len({each.id for each in said.calls}) == 2


def test_what_waits_ends_the_loop_in_the_order_of_the_message():
    events = events_of(Script([call(0), call(1)]), Tools(PAUSE))
    assert sum(isinstance(event, CallPaused) for event in events) == 2
    assert isinstance(events[-1], Paused)
    assert [each.place for each in events[-1].calls] == [0, 1]


def test_a_message_that_is_taken_up_runs_only_what_has_no_answer():
    tools = Tools(DONE)
    said = Said("Hm.", (call(0), call(1, '{"a": 1}')))
    begun = Begun(steps=1, said=said, answers={0: "kept"})
    model = Script([TextDelta("Done.")])
    events = events_of(model, tools, begun=begun)
    assert "CallStarted" not in kinds(events), "it was told of already"
    assert tools.given == [{"a": 1}]
    contents = [row["content"] for row in model.told[0]]
    assert contents[:2] == ["Hm.", "kept"]


def test_a_call_that_was_made_often_enough_is_answered_without_the_tool_and_ends_the_turn():
    tools = Tools(DONE)
    model = Script(*([[call(number)] for number in range(8)]))
    with pytest.raises(ModelLoops):
        events_of(model, tools, max_steps=20)
    assert len(tools.given) == 2
    assert "was made 2 times in this turn" in model.told[3][-1]["content"]


def test_the_last_model_call_that_brings_no_answer_meets_the_limit():
    model = Script(*([[call(number, f'{{"a": {number}}}')] for number in range(3)]))
    with pytest.raises(StepLimitReached, match="3 model calls"):
        events_of(model, Tools(DONE), max_steps=3)


def test_what_breaks_in_a_tools_own_code_is_raised_and_the_other_calls_are_cancelled():
    started, cancelled = [], []

    class Breaking(Tools):
        async def call(self, call, arguments, progress):
            if call.id == "call_1":
                while not started:
                    await asyncio.sleep(0)
                raise RuntimeError("broken")
            try:
                started.append(1)
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                cancelled.append(call.id)
                raise

    async def listen():
        due = [(0, call(0), None), (1, call(1), None)]
        with pytest.raises(RuntimeError, match="broken"):
            async for _ in run_calls(due, Breaking(DONE)):
                pass
        await asyncio.sleep(0)

    asyncio.run(listen())
    assert cancelled == ["call_0"]


def test_progress_from_a_thread_comes_before_the_end():
    class Threaded(Tools):
        async def call(self, call, arguments, progress):
            await asyncio.to_thread(progress, {"part": 1})
            return DONE

    async def listen():
        return [event async for event in run_calls([(0, call(), None)], Threaded(DONE))]

    assert [type(event) for event in asyncio.run(listen())] == [CallProgressed, CallEnded]
