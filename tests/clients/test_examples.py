"""The example of each seed's scenario, run as a program at the running product."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from agents.oauth.clients import client_make
from agents.tokens import token_create
from outfitter_client import Outfitter
from tests import factories
from tests.fakes.model_server import Call, ModelServer, served
from tests.fakes.web_server import WebServer
from tests.live import Live, eventually

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs" / "examples" / "clients"
PATIENCE = 600
NEED = "calculate 17 * 23"

pytestmark = pytest.mark.xdist_group("live")


def run_example(name: str, live: Live, *arguments: str, **env: str) -> str:
    """Run a script as a reader would; return what it printed."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT / "clients" / "python" / "src"),
            "OUTFITTER_URL": live.url,
            **env,
        },
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def wait_until_found(live: Live, token: str) -> None:
    """Wait until the running product has indexed the calculator, which was made just now."""
    with Outfitter(live.url, token=token) as outfitter:
        eventually(lambda: outfitter.search(NEED), what="the indexing of a tool made just now")


@pytest.fixture
def token(alice: User) -> str:
    return token_create(alice, name="examples")[1]


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with served() as running:
        yield running


def test_seed_1_an_agent_finds_its_tools_as_it_goes(live: Live, alice: User, token: str) -> None:
    factories.make_builtin("current_time")
    factories.make_builtin("calculator")  # what is found of the later tool, the earlier one is
    factories.make_agent(alice, slug="demo", model="demo/offline")
    wait_until_found(live, token)
    said = run_example("chat_with_discovery.py", live, "demo", OUTFITTER_TOKEN=token)
    assert "found: calculator" in said
    assert "calls: calculator {'expression': '17 * 23'}" in said
    assert "calls: current_time" in said
    assert "391" in said
    assert "only-for-this-conversation" not in said


@pytest.mark.sandbox
def test_seed_2_a_tool_is_made_of_its_configuration(live: Live, governor: User) -> None:
    token = token_create(governor, name="examples")[1]
    said = run_example("configured_tools.py", live, OUTFITTER_TOKEN=token)
    assert "- greeters-greet_in_norwegian(person): Greet a person in Norwegian." in said
    assert "missing_credential ['GREETER_KEY']" in said
    assert "{'greeting': 'Hei, Ada!', 'key_length': 6}" in said


def test_seed_3_tools_and_rights_change_while_the_agent_runs(
    live: Live, alice: User, token: str, server: WebServer
) -> None:
    server.on("/weather", lambda it: it.json('{"sky": "clear"}'))
    tool = factories.make_builtin("calculator")
    agent = factories.make_agent(alice, tool, slug="safecracker", scopes=["weather:read"])
    client, secret = client_make(agent, name="script")
    said = run_example(
        "dynamic_tool_agent.py",
        live,
        f"{server.url}/weather",
        OUTFITTER_TOKEN=token,
        OUTFITTER_CLIENT_ID=client.client_id,
        OUTFITTER_SECRET=secret,
    )
    lines = said.splitlines()
    assert lines[0] == "[safecracker] Discovered ['calculator']"
    assert "- calculator(expression): " in said
    assert "[safecracker] new: ['weather_forecast'], gone: []" in lines
    assert said.count("{'sky': 'clear'}") == 2
    assert "refused: permission_refused" in lines
    assert "[safecracker] new: ['vault_status'], gone: []" in lines
    assert "[safecracker] new: [], gone: ['weather_forecast']" in lines
    assert "{'vault:read': 1}" in lines
    assert "'usage_by_tool': {'calculator': 1, 'weather_forecast': 1, 'vault_status': 1}" in said
    assert secret not in said


def test_seed_4_a_model_searches_and_a_framework_calls(
    live: Live, token: str, model: ModelServer
) -> None:
    factories.make_builtin("calculator")
    wait_until_found(live, token)
    model.calls(Call("search_tools", {"query": NEED}))
    model.calls(Call("calculator", {"expression": "17 * 23"}))
    model.enqueue("It is 391.")
    said = run_example(
        "tool_patterns.py",
        live,
        "scripted",
        OUTFITTER_TOKEN=token,
        OPENAI_API_KEY="sk-scripted",
        OPENAI_BASE_URL=model.url,
    )
    lines = said.splitlines()
    assert lines[0] == "offered: ['search_tools']"
    assert lines[1:4] == ["offered: ['search_tools', 'calculator']"] * 2 + ["It is 391."]
    assert "391" in model.requests[2]["messages"][-1]["content"]
    assert "42" in lines[4]


def test_seed_5_a_sequence_is_built_run_and_asks(live: Live, token: str) -> None:
    factories.make_builtin("change_case")
    factories.make_builtin("count_text")
    said = run_example("sequence.py", live, OUTFITTER_TOKEN=token)
    assert "made shout_and_count" in said
    assert "1 succeeded It is SALT AND WATER now" in said
    assert "asked: Go on? SALT AND WATER" in said
    assert said.splitlines()[-1] == "{'text': 'SALT AND WATER', 'words': 3}"
