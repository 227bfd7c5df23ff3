"""Talk to an agent that finds its tools as it goes (the scenario of seed 1).

OUTFITTER_URL=http://127.0.0.1:8000 OUTFITTER_TOKEN=… python chat_with_discovery.py demo
"""

import os
import sys

from outfitter_client import Outfitter


def main(agent: str) -> None:
    """Send two messages, and show what was found, what was called and what was said."""
    with Outfitter(os.environ["OUTFITTER_URL"], token=os.environ["OUTFITTER_TOKEN"]) as outfitter:
        chat = outfitter.chat(agent)
        # keys for tools go with a message; they are kept sealed for this conversation alone
        for message, keys in [
            ("What is 17 * 23?", {}),
            ("What time is it in Tokyo?", {"WEATHER_API_KEY": "only-for-this-conversation"}),
        ]:
            print("You:", message)
            turn = chat.send(message, env=keys)
            for event in turn:
                if event.name == "tools.found":
                    told = [tool["name"] for tool in event.data["tools"] if tool.get("injected")]
                    print("  found:", ", ".join(told))
                elif event.name == "tool.call":
                    print("  calls:", event.data["name"], event.data["arguments"])
                elif event.name == "tool.result":
                    print("  gives:", event.data.get("output", event.data.get("error")))
            turn.raise_for_error()
            print("Agent:", turn.text)
        # the same search without an agent, with what was said before
        for found in outfitter.search("and in Oslo?", messages=["What time is it in Tokyo?"]):
            print(f"{found.score:.2f} {found.tool.name}")


if __name__ == "__main__":
    main(sys.argv[1])
