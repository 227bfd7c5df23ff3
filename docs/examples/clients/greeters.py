"""Tools that are made of their configuration: one class, as many tools as it is told to be."""

from typing import Any

from dynamic_tool import DynamicTool, ToolContext


class Greeter(DynamicTool):
    """Greets in the configured language, for whoever has a key."""

    @property
    def tool_name(self) -> str:
        """Name the tool after the language."""
        return f"greet_in_{self.tool_config['language']}"

    @property
    def tool_description(self) -> str:
        """Say what it does."""
        return f"Greet a person in {self.tool_config['language'].title()}."

    @property
    def parameters_schema(self) -> dict[str, Any]:
        """Say what it takes."""
        person = {"type": "string", "description": "Who is greeted."}
        return {"type": "object", "properties": {"person": person}, "required": ["person"]}

    async def _run_async_impl(
        self, args: dict[str, Any], tool_context: ToolContext, credential: str | None = None
    ) -> dict[str, Any]:
        signed = len(self.tool_config["api_key"])  # the key itself would be masked
        return {"greeting": f"{self.tool_config['word']}, {args['person']}!", "key_length": signed}
