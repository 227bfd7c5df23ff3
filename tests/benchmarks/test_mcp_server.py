"""What rights, a record and a large catalogue cost a client, against a bare MCP SDK server."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from itertools import chain
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from agents.tokens import token_create
from config.management.scale import Sizes, fill
from registry.models import Tool
from tests.benchmarks.mcp_client import HANDSHAKE, MODERN, Talk
from tests.benchmarks.measure import Row, held, in_turns, measured, rows_of
from tests.benchmarks.rest_client import Rest
from tests.factories import make_builtin
from tests.web_process import web_process

pytestmark = [pytest.mark.bench, pytest.mark.django_db(transaction=True)]

BARE = "the same function on a bare SDK server"
TOOLS = 10_000
CLIENTS = 32
ARGUMENTS = {"expression": "6*7"}
CALLS = 20
"""Calls of which each measurement is the median."""


@pytest.fixture
def token(transactional_db: None, alice: User) -> str:
    make_builtin("calculator", required_scopes=["math:use"])
    return token_create(alice, name="bench", scopes=["tools:read", "tools:run", "math:use"])[1]


@pytest.fixture
def product(token: str, tmp_path: Path) -> Iterator[int]:
    # the limit of requests is checked all the same: it is as high as nobody calls
    with web_process(tmp_path, env={"OUTFITTER_API_CALLS_PER_MINUTE": "1000000"}) as (_, port):
        yield port


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[int]:
    with web_process(tmp_path, app="tests.benchmarks.bare_mcp:app") as (_, port):
        yield port


def calls(call: Callable[[], object], number: int = CALLS) -> float:
    """Return the median of so many calls, in milliseconds."""
    return statistics.median(measured(call) for _ in range(number))


def against_bare(name: str, call: Callable[[], object], port: int, version: str = MODERN) -> None:
    """Hold a way to call the calculator against the bare server, which answers by MCP."""
    with Talk(port, version) as bare:
        runs = {"": call, BARE: lambda: bare.call("calculator", ARGUMENTS)}
        for run in runs.values():
            calls(run, 200)
        took = in_turns({key: partial(calls, run) for key, run in runs.items()})
    held(rows_of(name, took, {BARE: 4}, None))


@pytest.mark.parametrize("version", [MODERN, HANDSHAKE])
def test_a_call_of_a_trivial_tool(product: int, bare: int, token: str, version: str):
    """With the check of token and scopes, the policy and the row of the call."""
    with Talk(product, version, token) as talk:
        name = f"call a built-in tool by MCP {version}"
        against_bare(name, lambda: talk.call("calculator", ARGUMENTS), bare, version)


def test_a_call_by_rest(product: int, bare: int, token: str):
    """The same, with the limit of requests and the headers of the REST API."""
    path = f"/api/v1/tools/{Tool.objects.get(wire_name='calculator').pk}/run/"
    with Rest(product, token) as rest:
        run = partial(rest.post, path, {"arguments": ARGUMENTS})
        against_bare("call a built-in tool by REST", run, bare)


def test_a_call_by_name(product: int, bare: int, token: str):
    """As whoever discovered the tool calls it: its output is the whole answer."""
    with Rest(product, token) as rest:
        run = partial(rest.post, "/api/v1/discovery/tools/calculator/", ARGUMENTS)
        against_bare("call a built-in tool by discovery", run, bare)


def test_the_list_of_ten_thousand_tools(token: str, tmp_path: Path):
    """As a client reads it whose token may not be used for all of them; without a baseline.

    Cold is the first list of a process.
    """
    for _ in fill(Sizes(tools=TOOLS * 3 // 2 + 400, invocations=1000, turns=1000, runs=100)):
        pass
    gc.freeze()  # the client is in this process, and is not to look through it for garbage
    with web_process(tmp_path) as (_, port), Talk(port, MODERN, token) as talk:
        cold = listed(talk)
        warm = [listed(talk) for _ in range(5)]
    gc.unfreeze()
    whole = statistics.median(sum(pages) for pages in warm)
    held(
        [
            _within("list 500 of 10,000 tools by MCP, cold", statistics.median(cold), 150),
            _within("list 500 of 10,000 tools by MCP", statistics.median(chain(*warm)), 150),
            _within("list 10,000 tools by MCP", whole, 1000),
        ]
    )


def _within(name: str, took: float, limit: float) -> Row:
    return Row(name, "ms", round(took, 3), "none", 0, 0, limit, took <= limit, limit)


def listed(talk: Talk) -> list[float]:
    """Read the list to its end, or as far as it counts; return what each page took, in ms."""
    took, names, cursor = [], [], ""
    while len(names) < TOOLS:
        started = time.perf_counter()
        page = talk.ask("tools/list", {"cursor": cursor} if cursor else {})
        took.append((time.perf_counter() - started) * 1000)
        names += [tool["name"] for tool in page["tools"]]
        cursor = page.get("nextCursor", "")
        assert cursor or len(names) >= TOOLS
    assert len(names) == len(set(names))
    return took


CLIENTS_OF = {"MCP": partial(Talk, version=MODERN), "discovery": Rest}


@pytest.mark.parametrize("way", CLIENTS_OF)
def test_thirty_two_clients_at_once(product: int, bare: int, token: str, way: str):
    """No call fails, and together they are served as quickly as one after the other."""
    begin = partial(CLIENTS_OF[way], product, token=token)
    runs = {
        "": lambda: rate(begin, CLIENTS),
        "one client": lambda: rate(begin, 1),
        BARE: lambda: rate(partial(Talk, bare), CLIENTS),
    }
    took = in_turns(runs)
    name = f"calls of {CLIENTS} clients at once, by {way}: each"
    held(rows_of(name, took, {"one client": 1.25, BARE: 6}, None))


def rate(begin: Callable[[], Talk | Rest], clients: int) -> float:
    """Return the milliseconds for each call of clients that call as fast as they are answered."""
    number = 640 // clients

    def act(one: Talk | Rest) -> None:
        for _ in range(number):
            one.call("calculator", ARGUMENTS)

    with ExitStack() as stack:
        talks = [stack.enter_context(begin()) for _ in range(clients)]
        pool = stack.enter_context(ThreadPoolExecutor(clients))
        for talk in talks:
            talk.call("calculator", ARGUMENTS)
        return measured(lambda: list(pool.map(act, talks))) / (number * clients)
