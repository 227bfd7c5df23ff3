PROVIDER = "demo"


async def chunks(messages, tools):
    called = messages[-1]["role"] == "tool"
    if not called and tools:
        yield {
            "finish_reason": None,
            "index": 0,
            "is_finished": False,
            "text": "",
            "tool_use": {
                "id": "c0",
                "type": "function",
                "function": {"name": "calculator", "arguments": '{"expression":"17*23"}'},
                "index": 0,
            },
            "usage": None,
        }
    else:
        yield {
            "finish_reason": None,
            "index": 0,
            "is_finished": False,
            "text": "Done: " + messages[-1]["content"],
            "tool_use": None,
            "usage": None,
        }
    yield {
        "finish_reason": "stop",
        "index": 0,
        "is_finished": True,
        "text": "",
        "tool_use": None,
        "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
    }


def is_demo(model: str) -> bool:
    return model.startswith("demo/")
