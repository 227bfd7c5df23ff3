"""An example of a local Python module: plain functions, and a tool that is a class.

Copy it into the folder that PYTHON_TOOLS_DIR names, then import the module `reading` on the
packages page. The class wins over the functions beside it; name `reading_time` as the function to
take under “Class, function or list” to offer that instead.
"""

import re
from typing import Annotated, Any

from dynamic_tool import DynamicTool, ToolContext

_SENTENCE = re.compile(r"[.!?]+(?:\s|$)")


def reading_time(
    text: str, words_per_minute: Annotated[int, "How fast the reader is"] = 220
) -> dict[str, float]:
    """Estimate how long a text takes to read.

    Args:
        text: The text itself, without markup.
    """
    words = len(text.split())
    return {"words": words, "minutes": round(words / words_per_minute, 1)}


class Digest(DynamicTool):
    """Shortens a text to its first sentences and keeps the whole as an artifact."""

    raw_string_args = ("text",)

    @property
    def tool_name(self) -> str:
        """Say the name that models call."""
        return "digest_text"

    @property
    def tool_description(self) -> str:
        """Say what it does, with the configured length."""
        return f"Shorten a text to its first {self._sentences} sentences."

    @property
    def parameters_schema(self) -> dict[str, Any]:
        """Say what it takes."""
        text = {"type": "string", "minLength": 1, "description": "The text to shorten."}
        return {"type": "object", "properties": {"text": text}, "required": ["text"]}

    @property
    def _sentences(self) -> int:
        return int(self.tool_config.get("sentences", 2))

    async def _run_async_impl(
        self, args: dict[str, Any], tool_context: ToolContext, credential: str | None = None
    ) -> dict[str, Any]:
        text = args["text"]
        ends = [match.end() for match in _SENTENCE.finditer(text)][: self._sentences]
        tool_context.save_artifact("whole.txt", text)
        return {"digest": text[: ends[-1]].strip() if ends else text, "characters": len(text)}
