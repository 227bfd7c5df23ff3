"""Run a built-in tool, in this process."""

from config.lib.types import JsonObject
from registry.builtins import BUILTINS
from registry.context import CallContext
from registry.errors import ToolUnavailable
from registry.executors.base import Output
from registry.specs import ToolSpec


class BuiltinExecutor:
    """Built-ins are ours, bounded in what they do, and need no sandbox."""

    def execute(self, spec: ToolSpec, arguments: JsonObject, context: CallContext) -> Output:
        """Run the built-in that the tool's export name names."""
        builtin = BUILTINS.get(spec.export_name)
        if builtin is None:
            raise ToolUnavailable(
                f"This version of Outfitter has no built-in tool “{spec.export_name}”.",
                "Run `manage.py seed_demo` to bring the catalogue up to date.",
            )
        return Output(value=builtin.run(arguments))
