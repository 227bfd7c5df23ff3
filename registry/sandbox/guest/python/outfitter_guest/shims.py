"""Make the modules that tools are written against importable where they are not installed.

The finder stands last, so the real ones win.
"""

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

Names = dict[str, Any]


def _nothing() -> Names:
    return {}


def _types() -> Names:
    from . import adk

    return {name: value for name, value in vars(adk).items() if isinstance(value, type)}


def _genai() -> Names:
    return {"types": sys.modules.get("google.genai.types") or _module("google.genai.types")}


def _tools() -> Names:
    from . import dynamic_tool

    return {"BaseTool": dynamic_tool.BaseTool, "ToolContext": dynamic_tool.ToolContext}


def _offered() -> Names:
    from . import dynamic_tool

    names = ("BaseTool", "DynamicTool", "ToolContext", "FunctionDeclaration")
    return {name: getattr(dynamic_tool, name) for name in names} | _types()


MODULES: dict[str, Callable[[], Names]] = {
    "dynamic_tool": _offered,
    "google": _nothing,
    "google.adk": _nothing,
    "google.adk.tools": _tools,
    "google.adk.tools.base_tool": _tools,
    "google.adk.tools.tool_context": _tools,
    "google.genai": _genai,
    "google.genai.types": _types,
    "solace_agent_mesh": _nothing,
    "solace_agent_mesh.agent": _nothing,
    "solace_agent_mesh.agent.tools": _nothing,
    "solace_agent_mesh.agent.tools.dynamic_tool": _offered,
}


class _Finder(MetaPathFinder, Loader):
    """Finds the modules of `MODULES`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in MODULES:
            return None
        is_package = any(name.startswith(f"{fullname}.") for name in MODULES)
        return ModuleSpec(fullname, self, is_package=is_package)

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(MODULES[module.__name__]())


def _module(name: str) -> ModuleType:
    return __import__(name, fromlist=["*"])


def install_shims() -> None:
    """Offer the modules from now on."""
    sys.meta_path.append(_Finder())
