"""What LiteLLM knows of a model: how much it reads, whether it takes tools, how it counts."""

import asyncio
import contextlib
from dataclasses import dataclass

from chat import demo
from chat.llm import library

BYTES_PER_TOKEN = 3
"""Where no tokenizer is at hand; most texts have more bytes in a token, so it counts too many."""


def count_tokens(model: str, text: str) -> int:
    """Return how many tokens a model reads in a text, without asking anybody.

    LiteLLM brings OpenAI's and Anthropic's tokenizers along; models of others, whose tokenizers it
    would fetch, are counted by OpenAI's, which is near enough for a budget. Takes about a
    millisecond for 10,000 tokens once the tokenizer is loaded.
    """
    if not text:
        return 0
    litellm = library.load()
    try:
        fetched = litellm.utils.huggingface_tokenizer_kind(model) not in {None, "anthropic"}
        return int(litellm.token_counter(model="" if fetched else model, text=text))
    except Exception:  # a tokenizer that is not here
        return len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN + 1


@dataclass(frozen=True)
class Facts:
    """What is known of a model; `window` is how many tokens it reads, None where nobody says."""

    window: int | None
    takes_tools: bool


_facts: dict[str, Facts] = {}


async def facts_of(model: str) -> Facts:
    """Return what is known of a model; the first time it is looked up beside the event loop.

    Of some local servers LiteLLM asks the server itself.
    """
    if model not in _facts:
        _facts[model] = await asyncio.to_thread(_looked_up, model)
    return _facts[model]


def _looked_up(model: str) -> Facts:
    return Facts(_window(model), _takes_tools(model))


def _window(model: str) -> int | None:
    if model.startswith(f"{demo.PROVIDER}/"):
        return None
    with contextlib.suppress(Exception):  # it has many ways to say that it knows no such model
        return library.load().get_model_info(model).get("max_input_tokens") or None
    return None


def _takes_tools(model: str) -> bool:
    """Tell whether a model may be sent tools: False only where LiteLLM knows that it may not.

    Its list marks most models that take tools, but far from all, so no mark is no “no”.
    """
    if model.startswith(f"{demo.PROVIDER}/"):
        return True
    litellm = library.load()
    with contextlib.suppress(Exception):
        if litellm.get_model_info(model).get("supports_function_calling") is False:
            return False
    with contextlib.suppress(Exception):
        # what is not in this list LiteLLM drops without a word
        return "tools" in (litellm.get_supported_openai_params(model) or ["tools"])
    return True
