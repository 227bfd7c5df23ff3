"""What the chat adds to a model: before its first word, to each word, and for many at once."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from agents.tokens import token_create
from chat.event_writer import writer
from chat.models import Conversation, Turn
from chat.models.turn import TurnStatus
from config.management.scale import Sizes, fill
from registry.models import Tool
from tests import factories
from tests.benchmarks.measure import Row, held, in_turns
from tests.benchmarks.streaming import BARE, Heard, Server, serving
from tests.fakes.model_server import MODEL, ModelServer, Reply, served
from tests.web_process import PRODUCT

pytestmark = [pytest.mark.bench, pytest.mark.django_db(transaction=True)]

TOOLS = 10_000
STREAMS = 200
STAMPS, PACE = 20, 1.0
BEGINS = 0.06
"""Seconds from one of many streams to the next."""
BARE_STREAM = "LiteLLM on a bare Starlette stream"


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with served() as model:
        yield model


@pytest.fixture
def bare(model: ModelServer, tmp_path: Path) -> Iterator[Server]:
    with serving(BARE, tmp_path, model) as server:
        yield server


@pytest.fixture
def many_tools(transactional_db: None) -> None:
    for _ in fill(Sizes(tools=TOOLS * 4 // 3 + 200, invocations=1000, turns=1000, runs=100)):
        pass
    assert Tool.objects.count() >= TOOLS


@pytest.fixture
def talking(alice: User) -> Conversation:
    return factories.make_conversation(alice, factories.make_agent(alice, model=MODEL))


def token_of(person: User) -> str:
    return token_create(person, name="bench")[1]


def said(server: Server, path: str, body: dict[str, object]) -> Heard:
    heard = asyncio.run(server.hear(path, body))
    assert heard.ended, server.process.log.read_text()[-2000:]
    return heard


def messages(conversation: Conversation) -> str:
    return f"/api/v1/conversations/{conversation.pk}/messages/"


def row(name: str, unit: str, ours: float, baseline: float, target: float, limit: float) -> None:
    """Add a row: both are what is added by the server, `limit` what ours should stay below."""
    ratio = ours / baseline
    values = (round(ours, 3), BARE_STREAM, round(baseline, 3), round(ratio, 4))
    held([Row(name, unit, *values, target, ratio <= target, limit)])


def within(name: str, ours: float, baseline: float, target: float) -> None:
    """Add a row whose target is what the server may add, in ms, whatever the baseline takes."""
    ratio = round(ours / baseline, 4)
    values = (round(ours, 3), BARE_STREAM, round(baseline, 3), ratio)
    held([Row(name, "ms", *values, target, ours <= target, target)])


def test_from_the_message_to_the_model(many_tools, talking, alice, model, bare, tmp_path):
    """The model is asked with the tools that were found among ten thousand, in the first message
    of a conversation; what LiteLLM takes for the same tools is the baseline."""
    asked = cycle(Tool.objects.exclude(title="").values_list("title", flat=True)[:40])
    told: list[object] = []

    def leaving(server: Server, path: str, tools: Sequence[object] = ()) -> float:
        model.enqueue("Done.")
        body = {"content": f"please {next(asked)}"} | ({"tools": tools} if tools else {})
        sent = time.perf_counter()
        said(server, path, body)
        return (model.arrived - sent) * 1000

    def ours() -> float:
        conversation = factories.make_conversation(alice, talking.agent)
        took = leaving(product, messages(conversation))
        told[:] = model.requests[-1]["tools"]
        return took

    with serving(PRODUCT, tmp_path, model, token_of(alice)) as product:
        for _ in range(5):
            ours()
        medians = in_turns({"": ours, BARE_STREAM: lambda: leaving(bare, "/say", told)})
    assert len(told) > 2
    overhead = medians[""] - medians[BARE_STREAM]
    name = f"message → model, among {TOOLS:,} tools: added"
    within(name, overhead, medians[BARE_STREAM], 15)


@pytest.mark.parametrize(
    ("name", "chosen"),
    [("the first words", slice(0, 1)), ("words after a pause", slice(1, None))],
)
def test_words_passed_on(talking, alice, model, bare, tmp_path, name, chosen):
    def passing_on(server: Server, path: str) -> Callable[[], float]:
        def run() -> float:
            model.enqueue(Reply(stamps=4, pace=0.12))  # each comes after a pause
            return statistics.median(said(server, path, {"content": "hello"}).delays[chosen])

        return run

    with serving(PRODUCT, tmp_path, model, token_of(alice)) as product:
        ours = passing_on(product, messages(talking))
        ours()
        medians = in_turns({"": ours, BARE_STREAM: passing_on(bare, "/say")})
    overhead = medians[""] - medians[BARE_STREAM]
    within(f"{name} passed on: added", overhead, medians[BARE_STREAM], 3)


@dataclass(frozen=True)
class Load:
    """What many streams at once came to: of a word its delay and what it cost, in ms."""

    p95: float
    cpu: float


async def heard_at_once(server: Server, paths: list[str]) -> list[Heard]:
    """Read many streams; they begin one after the other and all are open for a while."""

    async def hear(place: int, path: str) -> Heard:
        await asyncio.sleep(place * BEGINS)
        return await server.hear(path, {"content": "hello"})

    return await asyncio.gather(*(hear(place, path) for place, path in enumerate(paths)))


def loaded(server: Server, paths: list[str], model: ModelServer) -> Load:
    """Have a stamped answer streamed from each path; every one must come whole."""
    model.enqueue(*(Reply(stamps=STAMPS, pace=PACE) for _ in paths))
    before = server.cpu()
    heard = asyncio.run(heard_at_once(server, paths))
    spent = server.cpu() - before
    assert sum(each.ended for each in heard) == len(paths), server.process.log.read_text()[-3000:]
    delays = [delay for each in heard for delay in each.delays]
    assert len(delays) == STAMPS * len(paths), "some words were lost or came twice"
    return Load(statistics.quantiles(delays, n=20)[-1], spent * 1000 / len(delays))


def test_many_streams_at_once(alice, model, bare, tmp_path):
    agent = factories.make_agent(alice, model=MODEL, discovery_mode="linked")
    talks = [factories.make_conversation(alice, agent) for _ in range(STREAMS)]
    with serving(PRODUCT, tmp_path, model, token_of(alice)) as product:
        loaded(product, [messages(factories.make_conversation(alice, agent))], model)
        ours = loaded(product, [messages(each) for each in talks], model)
    loaded(bare, ["/say"], model)
    alone = loaded(bare, ["/say"] * STREAMS, model)
    name = f"{STREAMS} answers at once"
    row(f"{name}: a word later by (p95)", "ms", ours.p95, alone.p95, 4, 500)
    row(f"{name}: processor per word", "ms", ours.cpu, alone.cpu, 6, 5)


def test_the_memory_of_an_idle_stream(alice, model, bare, tmp_path):
    agent = factories.make_agent(alice, model=MODEL)
    turns = [
        factories.make_turn(
            factories.make_conversation(alice, agent), model=MODEL, status=TurnStatus.WAITING
        )
        for _ in range(STREAMS)
    ]
    for turn in turns:
        writer().write(turn.pk, "turn.waiting", {"requests": []}).result(10)

    async def grown(server: Server, paths: list[str]) -> float:
        async with AsyncExitStack() as streams:
            before = 0
            for number, path in enumerate(paths):
                if number == STREAMS // 4:  # the first ones warm it up
                    before = server.memory()
                reader = await streams.enter_async_context(server.open(path))
                while not (await reader.readline()).startswith((b"event:", b": alive")):
                    pass
            await asyncio.sleep(1)
            return (server.memory() - before) / (len(paths) * 3 / 4)

    def events(turn: Turn) -> str:
        return f"/api/v1/conversations/{turn.conversation_id}/turns/{turn.pk}/events/"

    with serving(PRODUCT, tmp_path, model, token_of(alice)) as product:
        ours = asyncio.run(grown(product, [events(turn) for turn in turns]))
    alone = asyncio.run(grown(bare, ["/idle"] * STREAMS))
    row("memory of an idle stream", "KB", ours, alone, 6, 200)
