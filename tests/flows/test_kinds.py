"""Each kind of tool, from its import to its answer, through REST on the running product."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User

from agents.tokens import token_create
from tests import factories
from tests.fakes.mcp_server import TOKEN, running_mcp_server
from tests.live import Live, eventually

pytestmark = [pytest.mark.sandbox, pytest.mark.xdist_group("live")]

API_TOOL = {
    "type": "api",
    "name": "Health of the product",
    "description": "Tells whether the product that runs here is well.",
    "inputSchema": {
        "type": "object",
        "properties": {"format": {"type": "string"}},
        "required": ["format"],
    },
}


@dataclass
class Visitor:
    """Asks the running product by REST, with a token of a reviewer."""

    client: httpx.Client

    def ask(self, method: str, path: str, body: Any = None, status: int = 200) -> Any:
        """Return the answer, which must have this status."""
        answer = self.client.request(method, f"/api/v1/{path}", json=body)
        assert answer.status_code == status, answer.text
        return answer.json()

    def bring(self, **body: Any) -> dict[str, str]:
        """Import a package and return its tools: export → id."""
        job = self.ask("POST", "packages/", body, status=202)

        def ended() -> Any:
            seen = self.ask("GET", f"jobs/{job['id']}/")
            return seen if seen["status"] in {"succeeded", "failed"} else None

        job = eventually(ended, seconds=120, what="the import")
        assert job["status"] == "succeeded", job["error"]
        return {row["export"]: row["tool"] for row in job["report"]}

    def run(self, tool: str, arguments: Any = None, *, status: int = 200, **rest: Any) -> Any:
        """Call a tool and return its output, or its error."""
        body = {"arguments": arguments or {}, **rest}
        answer = self.ask("POST", f"tools/{tool}/run/", body, status=status)
        return answer["output"] if status == 200 else answer


@pytest.fixture
def visitor(live: Live, governor: User) -> Iterator[Visitor]:
    """A reviewer at the running product."""
    _, token = token_create(governor, name="flows")
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=live.url, headers=headers, timeout=90) as client:
        yield Visitor(client)


def test_npm_a_tool_answers_and_refuses_what_does_not_fit(visitor: Visitor) -> None:
    tools = visitor.bring(ecosystem="npm", name="@outfitter-test/shapes")
    assert visitor.run(tools["wrapped"], {"text": "hello"}) == "wrapped: hello"
    error = visitor.run(tools["wrapped"], {"text": 1}, status=400)
    assert (error["code"], error["extra"]["phase"]) == ("invalid_arguments", "validate")


def test_python_a_module_with_a_setting_from_a_secret(visitor: Visitor) -> None:
    tools = visitor.bring(
        ecosystem="local",
        name="weather_api",
        settings={"tool_config": {"api_key": "${WEATHER_API_KEY}"}},
    )
    tool, arguments = tools["get_current_weather"], {"location": "Oslo"}
    error = visitor.run(tool, arguments, status=400)
    assert error["code"] == "missing_credential"
    assert error["extra"]["missing"] == ["WEATHER_API_KEY"]
    keyed = {"WEATHER_API_KEY": "weather-key-5501"}
    error = visitor.run(tool, arguments, status=403, env=keyed)
    assert error["code"] == "network_denied"
    assert error["extra"]["hosts"] == ["api.weather.com:443"]


def test_python_plain_functions(visitor: Visitor) -> None:
    tools = visitor.bring(ecosystem="local", name="typed")
    box = {"width": 2, "height": 3}
    assert visitor.run(tools["area"], {"box": box}) == {"area": "6m2", "rounding": "up"}


def test_api_a_request_is_made_and_a_metadata_address_is_not_asked(
    visitor: Visitor, live: Live
) -> None:
    definition = {"method": "GET", "url": f"{live.url}/healthz?as={{{{ args.format }}}}"}
    made = visitor.ask("POST", "tools/", {**API_TOOL, "definition": definition}, status=201)
    assert visitor.run(made["id"], {"format": "json"}) == {"status": "ok"}
    definition = {"method": "GET", "url": "http://169.254.169.254/{{ args.format }}"}
    body = {**API_TOOL, "name": "Metadata", "definition": definition}
    made = visitor.ask("POST", "tools/", body, status=201)
    error = visitor.run(made["id"], {"format": "json"}, status=403)
    assert (error["code"], error["extra"]["host"]) == ("host_refused", "169.254.169.254")


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_mcp_a_server_of_either_era(visitor: Visitor, era: str) -> None:
    with running_mcp_server(era=era) as server:
        settings = {"transport": "http", "url": server.url}
        tools = visitor.bring(ecosystem="mcp", name=f"sample-{era}", settings=settings)
        assert visitor.run(tools["add"], {"a": 2, "b": 3}) == {"result": 5}
        kinds = [part["type"] for part in visitor.run(tools["mixed"])["content"]]
        assert kinds == ["text", "image", "audio", "resource", "resource_link"]
        error = visitor.run(tools["fail"], status=400)
        assert (error["code"], error["message"]) == ("tool_failed", "The printer is out of paper.")


def test_mcp_a_server_that_wants_a_token_is_not_imported_without_it(visitor: Visitor) -> None:
    with running_mcp_server(token=TOKEN) as server:
        settings = {"transport": "http", "url": server.url}
        body = {"ecosystem": "mcp", "name": "guarded", "settings": settings}
        with pytest.raises(AssertionError, match="upstream_auth"):
            visitor.bring(**body)


def test_code_a_program_calls_tools_and_each_call_has_its_row(visitor: Visitor) -> None:
    owner = User.objects.get(username="governor")
    run_code = factories.make_run_code()
    calculator = factories.make_builtin("calculator")
    factories.make_agent(owner, calculator, slug="coder", code_execution=True)
    program = (
        "import asyncio\n"
        "calls = [tool_call('calculator', expression=f'{n} * 7') for n in range(4)]\n"
        "answers = await asyncio.gather(*calls)\n"
        "print('asked', len(answers))\n"
        "sum(answer['result'] for answer in answers)\n"
    )
    tool = str(run_code.pk)
    body = {"arguments": {"code": program}, "agent": "coder"}
    answer = visitor.ask("POST", f"tools/{tool}/run/", body)
    assert answer["output"] == {"result": 42, "printed": "asked 4\n", "calls": 4}
    seen = visitor.ask("GET", f"invocations/{answer['invocation']}/")
    assert len(seen["children"]) == 4
    error = visitor.run(tool, {"code": "1 / 0"}, status=400, agent="coder")
    assert error["code"] == "code_failed"
    assert "division by zero" in error["message"]
