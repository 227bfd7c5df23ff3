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


def _callable_tools(options: JsonObject) -> list[JsonObject]:
    return [] if options.get("tool_choice") == "none" else options.get("tools") or []
