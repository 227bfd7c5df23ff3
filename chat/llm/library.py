"""Import LiteLLM, quietly and late: it takes seconds."""

import logging
import os
import warnings
from collections.abc import AsyncIterator
from functools import cache
from types import ModuleType
from typing import Any

from chat import demo
from config.lib.types import JsonObject


@cache
def load() -> ModuleType:
    """Return LiteLLM: no price list from the network, no tokenizers, no advice on the console."""
    warnings.filterwarnings("ignore", message="Accessing the 'model_(computed_)?fields'")
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    import litellm

    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.disable_hf_tokenizer_download = True
    # of embeddings, where it takes a 0 for “not said”
    litellm.DEFAULT_MAX_RETRIES = 0  # type: ignore[attr-defined]
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL)

    _send_as_given()

    class Demo(litellm.CustomLLM):  # type: ignore[misc, name-defined]
        """The model `demo/offline`."""

        async def astreaming(
            self, *args: Any, messages: list[JsonObject], optional_params: JsonObject, **kwargs: Any
        ) -> AsyncIterator[JsonObject]:
            async for chunk in demo.chunks(messages, _callable_tools(optional_params)):
                yield chunk

    litellm.custom_provider_map = [{"provider": demo.PROVIDER, "custom_handler": Demo()}]
    module: ModuleType = litellm
    return module


def _send_as_given() -> None:
    """Keep OpenAI's client from walking through every tool and message to rename their keys.

    Its chat has no key with another name, so the walk changes nothing; with dozens of tools it
    takes longer than all else that is done for a request.
    """
    from openai._utils import is_given
    from openai.resources.chat.completions import completions

    async def as_given(body: JsonObject, _type: object) -> JsonObject:
        return {key: value for key, value in body.items() if is_given(value)}

    vars(completions)["async_maybe_transform"] = as_given


def _callable_tools(options: JsonObject) -> list[JsonObject]:
    return [] if options.get("tool_choice") == "none" else options.get("tools") or []
