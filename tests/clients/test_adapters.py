"""Toolsets as other frameworks have them, at the running product."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.language_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from openai.types.chat import ChatCompletionMessage

from agents.tokens import token_create
from outfitter_client import AsyncOutfitter, Outfitter, Tool, Toolset
from outfitter_client.langchain import alangchain_tools, langchain_tools
from outfitter_client.naming import LONGEST, fitting_names
from outfitter_client.openai import AsyncOpenAITools, OpenAITools
from tests import factories
from tests.live import Live, eventually


@given(st.lists(st.text(max_size=90), unique=True))
def test_each_name_has_one_that_every_framework_takes(names: list[str]) -> None:
    fitting = fitting_names(names)
    assert list(fitting.values()) == names
    assert all(0 < len(name) <= LONGEST and name.isascii() for name in fitting)


def test_a_name_that_fits_stays_and_another_is_the_same_wherever_it_stands() -> None:
    alone, beside = fitting_names(["mail.send"]), fitting_names(["mail_send", "mail.send"])
    assert beside["mail_send"] == "mail_send"
    assert alone.items() < beside.items()


def test_a_toolset_is_a_sequence_with_names() -> None:
    tools = Toolset([Tool("a", "A."), Tool("b", "B.")])
    assert (tools.names, len(tools), tools["b"], tools[0].name) == (["a", "b"], 2, tools[1], "a")
    assert ("a" in tools, "c" in tools, tools.get("c")) == (True, False, None)
    assert [tool.name for tool in tools[1:]] == ["b"]
    with pytest.raises(TypeError, match="no client"):
        tools["a"]()


def calling(*calls: tuple[str, Any]) -> dict[str, Any]:
    """Return a model's message that calls tools; arguments as text are sent as they are."""
    made = [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {
                "name": name,
                "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments),
            },
        }
        for number, (name, arguments) in enumerate(calls)
    ]
    return {"role": "assistant", "content": None, "tool_calls": made}


@pytest.fixture
def token(alice: User) -> str:
    return token_create(alice, name="adapters")[1]


@pytest.fixture
def outfitter(live: Live, token: str) -> Iterator[Outfitter]:
    factories.make_builtin("calculator")
    with Outfitter(live.url, token=token) as client:
        yield client


@pytest.mark.xdist_group("live")
class TestOpenAI:
    def test_calls_are_answered_and_errors_told_to_the_model(self, outfitter: Outfitter) -> None:
        tools = OpenAITools(outfitter)
        offered = tools.tools()[0]["function"]
        assert (offered["name"], offered["parameters"]["required"]) == (
            "calculator",
            ["expression"],
        )
        message = calling(
            ("calculator", {"expression": "17 * 23"}),
            ("calculator", {"expression": "1 / 0"}),
            ("calculator", "no json"),
            ("nothing", {}),
        )
        asked, *answers = tools.run_tool_calls(ChatCompletionMessage(**message))
        assert asked["tool_calls"] == message["tool_calls"]
        told = [json.loads(answer["content"]) for answer in answers]
        assert [answer["tool_call_id"] for answer in answers] == [f"call_{n}" for n in range(4)]
        assert told[0]["result"] == 391
        codes = [each["error"]["code"] for each in told[1:]]
        assert codes == ["input_rejected", "invalid_arguments", "not_found"]
        assert tools.run_tool_calls({"role": "assistant", "content": "Hi"})[1:] == []

    def test_what_is_found_is_offered_from_then_on(self, outfitter: Outfitter) -> None:
        eventually(lambda: outfitter.search("work out a sum"))
        tools = OpenAITools(outfitter, search=True)
        assert [each["function"]["name"] for each in tools.tools()] == ["search_tools"]
        answer = tools.run_tool_calls(calling(("search_tools", {"query": "work out a sum"})))[1]
        assert json.loads(answer["content"])[0]["name"] == "calculator"
        names = [each["function"]["name"] for each in tools.tools()]
        assert names == ["search_tools", "calculator"]

    def test_calls_of_one_message_are_made_side_by_side(
        self, outfitter: Outfitter, live: Live, token: str
    ) -> None:
        async def act() -> list[dict[str, Any]]:
            async with AsyncOutfitter(live.url, token=token) as client:
                tools = AsyncOpenAITools(client)
                assert (await tools.tools())[0]["function"]["name"] == "calculator"
                calls = [("calculator", {"expression": f"{n} + 1"}) for n in range(5)]
                return await tools.run_tool_calls(calling(*calls))

        answers = asyncio.run(act())[1:]
        assert [json.loads(each["content"])["result"] for each in answers] == [1, 2, 3, 4, 5]


@pytest.mark.xdist_group("live")
class TestLangChain:
    def test_a_model_of_langchain_is_bound_to_them_and_gets_its_answers(
        self, outfitter: Outfitter
    ) -> None:
        (tool,) = langchain_tools(outfitter)
        function = convert_to_openai_tool(tool)["function"]
        assert (function["name"], function["parameters"]["required"]) == (
            "calculator",
            ["expression"],
        )
        calls = [
            {"name": "calculator", "args": {"expression": words}, "id": words}
            for words in ("17 * 23", "1 / 0")
        ]
        model = FakeMessagesListChatModel(responses=[AIMessage("", tool_calls=calls)])
        said = model.invoke("What is 17 * 23?")
        answers = [tool.invoke(call) for call in said.tool_calls]
        assert all(isinstance(answer, ToolMessage) for answer in answers)
        assert "391" in str(answers[0].content)
        assert "input_rejected" in str(answers[1].content)

    @pytest.mark.parametrize("name", ["config", "run_manager", "self", "callbacks", "args"])
    def test_an_argument_may_have_a_name_that_langchain_uses(
        self, live: Live, token: str, name: str
    ) -> None:
        schema = {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}
        definition = {
            "format": 1,
            "steps": [
                {
                    "stepNumber": 1,
                    "toolToRunId": str(factories.make_builtin("calculator").pk),
                    "inputMapping": {"expression": {"source": "initialInput", "key": name}},
                    "storeOutputAs": "answer",
                }
            ],
            "finalOutputMapping": {
                "sum": {"source": "previousStep", "step": "answer", "path": "result"}
            },
        }
        owner = User.objects.get(username="alice")
        factories.make_sequence(
            owner, wire_name="odd_names", input_schema=schema, definition=definition
        )
        with Outfitter(live.url, token=token) as client:
            tools = {tool.name: tool for tool in langchain_tools(client)}
            assert tools["odd_names"].invoke({name: "6 * 7"}) == {"sum": 42}
            assert asyncio.run(tools["odd_names"].ainvoke({name: "6 * 7"})) == {"sum": 42}

    def test_they_are_awaited_with_an_asynchronous_client(
        self, outfitter: Outfitter, live: Live, token: str
    ) -> None:
        async def act() -> tuple[Any, Any]:
            async with AsyncOutfitter(live.url, token=token) as client:
                (tool,) = await alangchain_tools(client)
                (either,) = langchain_tools(outfitter, asynchronous=client)
                asked = {"expression": "6 * 7"}
                return await tool.ainvoke(asked), either.invoke(asked)

        first, second = asyncio.run(act())
        assert (first["result"], second["result"]) == (42, 42)
