"""Two classes of one module, as the original design configures them one by one."""

from typing import Any

from dynamic_tool import DynamicTool


class CalculatorTool(DynamicTool):
    """Adds; its name depends on its configuration."""

    @property
    def tool_name(self) -> str:
        return self.tool_config.get("name", "calculate")

    @property
    def tool_description(self) -> str:
        return "Add up."

    @property
    def parameters_schema(self) -> dict[str, Any]:
        properties: dict[str, Any] = {"text": {"type": "string"}}
        if self.tool_config.get("enable_advanced_features"):
            properties["advanced"] = {"type": "string"}
        return {"type": "object", "properties": properties}

    async def _run_async_impl(self, args: Any, tool_context: Any, credential: Any = None) -> Any:
        return {**args, "unit": self.tool_config.get("unit"), "key": self.tool_config.get("key")}


class StatisticsTool(CalculatorTool):
    """On offer only when it is switched on."""

    @property
    def tool_name(self) -> str:
        return "compute_statistics"

    def _get_declaration(self) -> Any:
        return super()._get_declaration() if self.tool_config.get("on") else None
