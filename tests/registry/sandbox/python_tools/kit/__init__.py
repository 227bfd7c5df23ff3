# ruff: noqa: T201
"""Tools of several shapes, for tests."""

from abc import ABC
from typing import Any, ClassVar

from google.adk.tools import ToolContext
from google.genai import types as adk_types
from solace_agent_mesh.agent.tools.dynamic_tool import DynamicTool


class Base(DynamicTool, ABC):
    """Not a tool: it does not say what it does."""


class ReportTool(Base):
    """Saves an artifact and reads its configuration."""

    raw_string_args = ("template",)
    required_scopes = ("reports:write",)

    @property
    def tool_name(self) -> str:
        return "write_report"

    @property
    def tool_description(self) -> str:
        return "Write a report."

    @property
    def parameters_schema(self) -> adk_types.Schema:
        properties = {"template": adk_types.Schema(type=adk_types.Type.STRING)}
        if self.tool_config.get("advanced"):
            properties["depth"] = adk_types.Schema(
                type=adk_types.Type.INTEGER, minimum=1, maximum=9, nullable=True
            )
        return adk_types.Schema(
            type=adk_types.Type.OBJECT, properties=properties, required=["template"]
        )

    async def init(self, component: Any, tool_config: dict[str, Any]) -> None:
        self.started = tool_config.get("title", "untitled")

    async def cleanup(self, component: Any, tool_config: dict[str, Any]) -> None:
        print("cleaned up")

    async def _run_async_impl(
        self, args: dict[str, Any], tool_context: ToolContext, credential: str | None = None
    ) -> dict[str, Any]:
        tool_context.state["written"] = True
        await tool_context.save_artifact("report.md", f"# {self.started}\n", "text/markdown")
        return {"title": self.started, "template": args["template"], "key": credential}


class KeyedTool(DynamicTool):
    """On offer only with a key."""

    tool_name = "keyed"
    tool_description = "Uses a key."
    parameters_schema: ClassVar[dict[str, Any]] = {"type": "object", "properties": {}}

    def _get_declaration(self) -> adk_types.FunctionDeclaration | None:
        if not self.tool_config.get("api_key"):
            return None
        return super()._get_declaration()

    async def _run_async_impl(
        self, args: dict[str, Any], tool_context: ToolContext, credential: str | None = None
    ) -> dict[str, Any]:
        return {
            "key": self.tool_config["api_key"],
            "same": credential == self.tool_config["api_key"],
        }
