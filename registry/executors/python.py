"""Run a tool of a Python package or module, in the sandbox."""

from config.lib.types import JsonObject
from registry.context import CallContext
from registry.errors import ToolUnavailable
from registry.executors.base import Output, give_back_connection
from registry.python_options import guest_options
from registry.sandbox.client import sandbox
from registry.specs import ToolSpec


class PythonExecutor:
    """Hands the call to the sandbox service; the module never runs in this process."""

    def execute(self, spec: ToolSpec, arguments: JsonObject, context: CallContext) -> Output:
        """Call the tool in a sandbox with only the variables that its package declares."""
        if not spec.package or not spec.package["artifact"]:
            raise ToolUnavailable(
                f"{spec.label} is not installed.", "Import the package again from its page."
            )
        names = [variable.name for variable in spec.env]
        env = dict(context.env(names))
        give_back_connection()
        answer = sandbox().call(
            artifact=spec.package["artifact"],
            export=spec.export_name,
            arguments=arguments,
            env=env,
            options=guest_options(spec.package.get("settings", {}), names),
            network=context.allowed_hosts,
            tenant=str(context.user.pk),
            timeout_seconds=spec.timeout_seconds,
            cancel=context.cancel,
        )
        details: JsonObject = {}
        if answer.logs:
            details["logs"] = answer.logs
        if answer.artifacts:
            details["artifacts"] = answer.artifacts
        return Output(value=answer.output, details=details or None)
