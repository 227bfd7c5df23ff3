"""Run a tool of an npm package, in the sandbox."""

from config.lib.types import JsonObject
from registry.context import CallContext
from registry.errors import ToolUnavailable
from registry.executors.base import Output, give_back_connection
from registry.sandbox.client import sandbox
from registry.specs import ToolSpec


class NpmExecutor:
    """Hands the call to the sandbox service; the package never runs in this process."""

    def execute(self, spec: ToolSpec, arguments: JsonObject, context: CallContext) -> Output:
        """Call the package's export in a fresh sandbox with only the variables it declares."""
        if not spec.package or not spec.package["artifact"]:
            raise ToolUnavailable(
                f"{spec.label} is not installed.", "Import the package again from its page."
            )
        env = dict(context.env([variable.name for variable in spec.env]))
        give_back_connection()
        answer = sandbox().call(
            artifact=spec.package["artifact"],
            export=spec.export_name,
            arguments=arguments,
            env=env,
            timeout_seconds=spec.timeout_seconds,
            network=context.allowed_hosts,
            cancel=context.cancel,
        )
        return Output(value=answer.output, details={"logs": answer.logs} if answer.logs else None)
