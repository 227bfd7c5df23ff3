"""An agent that is told an address and who it is, and learns the rest as it runs (seed 3).

OUTFITTER_URL=… OUTFITTER_CLIENT_ID=… OUTFITTER_SECRET=… OUTFITTER_TOKEN=… \
    python dynamic_tool_agent.py WEATHER_URL

The client is that of the agent; the token is its owner's, who registers a tool and changes what
the agent may do while it runs.
"""

import os
import sys
from typing import Any

from outfitter_client import NotAllowed, Outfitter


class DynamicToolAgent:
    """Discovers its tools, tells a model of them, uses them and counts."""

    def __init__(self, name: str, url: str, client_id: str, secret: str) -> None:
        self.name = name
        self.tools = Outfitter(url, client_id=client_id, secret=secret)
        print(f"[{name}] Discovered {self.tools.discover().names}")

    def rediscover(self) -> None:
        tools = self.tools.rediscover()
        print(f"[{self.name}] new: {list(tools.added)}, gone: {list(tools.removed)}")

    def use_tool(self, tool: str, **arguments: Any) -> Any:
        return self.tools.call(tool, **arguments)


def main(weather_url: str) -> None:
    """Swap a tool in while the agent runs, give it another scope, and count what it used."""
    url = os.environ["OUTFITTER_URL"]
    who = os.environ["OUTFITTER_CLIENT_ID"], os.environ["OUTFITTER_SECRET"]
    agent = DynamicToolAgent("safecracker", url, *who)
    print(agent.tools.prompt_context())
    print(agent.use_tool("calculator", expression="12 * 4"))

    with Outfitter(url, token=os.environ["OUTFITTER_TOKEN"]) as owner:
        for name, scope in [("weather_forecast", "weather:read"), ("vault_status", "vault:read")]:
            parameters = {"city": {"type": "string", "description": "Where."}}
            owner.register(
                name,
                f"Get the {name.replace('_', ' ')}.",
                url=weather_url,
                parameters=parameters,
                scopes=[scope],
            )
        agent.rediscover()  # the agent may: weather:read
        print(agent.use_tool("weather_forecast", city="Oslo"))
        try:
            agent.use_tool("vault_status", city="Oslo")
        except NotAllowed as error:
            print("refused:", error.code)

        owner.request(
            "PATCH", "agents/safecracker/", json={"scopes": ["weather:read", "vault:read"]}
        )
        agent.tools.renew()  # a token with the new scopes, without a restart
        agent.rediscover()
        print(agent.use_tool("vault_status", city="Oslo"))

        owner.unregister("weather_forecast")
        agent.rediscover()
        print(owner.stats()["scope_usage"])
    print(agent.tools.usage().as_dict())


if __name__ == "__main__":
    main(sys.argv[1])
