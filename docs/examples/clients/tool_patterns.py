"""Search for tools, and let a program call many: the patterns of seed 4, with any OpenAI client.

OUTFITTER_URL=… OUTFITTER_TOKEN=… OPENAI_API_KEY=… OPENAI_BASE_URL=… python tool_patterns.py MODEL
"""

import os
import sys
from typing import Any

from openai import OpenAI

from outfitter_client import Outfitter
from outfitter_client.langchain import langchain_tools
from outfitter_client.openai import OpenAITools


def answer(model: str, question: str, tools: OpenAITools) -> str:
    """Ask a model until it calls no more tools: the whole loop of an agent."""
    messages: list[Any] = [{"role": "user", "content": question}]
    client = OpenAI()
    while True:
        # asked anew each time: what search_tools found is there in the next request
        offered = tools.tools()
        print("offered:", [tool["function"]["name"] for tool in offered])
        asked = client.chat.completions.create(model=model, messages=messages, tools=offered)
        message = asked.choices[0].message
        if not message.tool_calls:
            return message.content or ""
        messages += tools.run_tool_calls(message)


def main(model: str) -> None:
    """Answer with searched tools, by a program that calls tools, and with LangChain's."""
    with Outfitter(os.environ["OUTFITTER_URL"], token=os.environ["OUTFITTER_TOKEN"]) as outfitter:
        print(answer(model, "What is 17 * 23?", OpenAITools(outfitter, search=True)))
        for tool in langchain_tools(outfitter):
            if tool.name == "calculator":
                call = {"name": tool.name, "args": {"expression": "6 * 7"}, "id": "1"}
                print(tool.invoke({**call, "type": "tool_call"}).content)


if __name__ == "__main__":
    main(sys.argv[1])
