"""What can go wrong with a tool, and who has to act on it.

Every class names its `phase` (where in a call it happened) and its `actor` (who can mend it):
the *model* that sent the arguments, the *owner* of the agent or credential, or the *operator*
of the tool. Only errors that show the tool itself to be at fault count against its health.
"""

from http import HTTPStatus
from typing import Any, ClassVar, Literal

from config.lib.errors import DomainError
from config.lib.types import JsonObject

Phase = Literal["search", "load", "validate", "permission", "approval", "execute"]
Actor = Literal["model", "owner", "operator"]


class ToolError(DomainError):
    """The tool call failed."""

    code = "tool_error"
    phase: ClassVar[Phase] = "execute"
    actor: ClassVar[Actor] = "operator"
    counts_against_health: ClassVar[bool] = False

    def __init__(self, message: str = "", hint: str = "", *, tool: str = "", **extra: Any) -> None:
        super().__init__(message, hint, **extra)
        self.tool = tool

    def as_dict(self) -> JsonObject:
        """Return `{code, message, hint, extra}`; `extra` always has `tool` and `phase`."""
        shape = super().as_dict()
        shape["extra"] = {**self.extra, "tool": self.tool, "phase": self.phase}
        return shape


class UnknownTool(ToolError):
    """There is no tool of this name here."""

    code = "unknown_tool"
    status = HTTPStatus.NOT_FOUND
    phase = "search"
    actor = "model"
    default_hint = "Use one of the tools that are listed, or search for another."


class InvalidArguments(ToolError):
    """The arguments do not fit the tool's input schema."""

    code = "invalid_arguments"
    phase = "validate"
    actor = "model"
    default_hint = "Correct the named fields and call the tool again."


class ToolInputRejected(ToolError):
    """The tool rejected its input."""

    code = "input_rejected"
    phase = "execute"
    actor = "model"
    default_hint = "Read the message, correct the arguments and call the tool again."


class PermissionRefused(ToolError):
    """The caller may not use this tool."""

    code = "permission_refused"
    status = HTTPStatus.FORBIDDEN
    phase = "permission"
    actor = "owner"
    default_hint = "Ask the owner of the agent or of the tool for access."


class ApprovalDenied(ToolError):
    """The agent's settings deny this tool."""

    code = "approval_denied"
    status = HTTPStatus.FORBIDDEN
    phase = "approval"
    actor = "owner"
    default_hint = "Change the tool's approval policy on the agent's settings page."


class MissingCredential(ToolError):
    """The tool needs a credential that is not set."""

    code = "missing_credential"
    phase = "load"
    actor = "owner"
    default_hint = "Add the named variable under Credentials, then try again."


class ToolUnavailable(ToolError):
    """The tool cannot be loaded."""

    code = "tool_unavailable"
    status = HTTPStatus.CONFLICT
    phase = "load"


class ImportBroken(ToolError):
    """The package cannot be imported."""

    code = "import_broken"
    status = HTTPStatus.CONFLICT
    phase = "load"
    counts_against_health = True
    default_hint = "Ask the author of the package, or import another version."


class SandboxUnavailable(ToolError):
    """The sandbox is not available, so packages cannot run."""

    code = "sandbox_unavailable"
    status = HTTPStatus.CONFLICT
    phase = "load"
    default_hint = "Run `manage.py doctor`: it names what is missing and how to get it."


class ToolFailed(ToolError):
    """The tool reported an error."""

    code = "tool_failed"


class ToolCrashed(ToolError):
    """The tool's process ended before it answered."""

    code = "tool_crashed"
    counts_against_health = True


class ToolTimeout(ToolError):
    """The tool did not answer in time."""

    code = "tool_timeout"
    counts_against_health = True
    default_hint = "Try a smaller input, or raise the tool's time limit."


class OutputRejected(ToolError):
    """The tool's answer could not be used."""

    code = "output_rejected"
    counts_against_health = True


class CallCancelled(ToolError):
    """The call was cancelled."""

    code = "cancelled"
    actor = "owner"


class OutOfMemory(ToolCrashed):
    """The tool used more memory than a call may."""

    code = "out_of_memory"


class ProtocolViolation(ToolCrashed):
    """The tool's process was stopped because it did not keep to the protocol."""

    code = "protocol_violation"


class CpuLimitReached(ToolTimeout):
    """The tool used more processor time than a call may."""

    code = "cpu_limit"
    default_hint = "Try a smaller input."


class OutputTooLarge(OutputRejected):
    """The tool answered with more than is taken."""

    code = "output_too_large"
    default_hint = "Ask the tool for less at a time."


class SandboxBusy(SandboxUnavailable):
    """Too many tools are running at the same time."""

    code = "sandbox_busy"
    default_hint = "Try again in a moment."


class PackageNotFound(ToolUnavailable):
    """There is no package of this name in the registry."""

    code = "package_not_found"
    status = HTTPStatus.NOT_FOUND
    actor = "owner"


class VersionNotFound(PackageNotFound):
    """The package has no such version."""

    code = "version_not_found"


class InvalidPackage(ToolUnavailable):
    """This is not the name or version of a package."""

    code = "invalid_package"
    status = HTTPStatus.BAD_REQUEST
    actor = "owner"


class RegistryUnreachable(ToolUnavailable):
    """The package registry did not answer."""

    code = "registry_unreachable"


class BuildFailed(ToolUnavailable):
    """The package could not be installed."""

    code = "build_failed"


class IntegrityMismatch(BuildFailed):
    """What the registry sent does not match its integrity."""

    code = "integrity_mismatch"


class StorageFull(BuildFailed):
    """There is no room for the package."""

    code = "storage_full"


class ArtifactMissing(ToolUnavailable):
    """The built package is no longer in the artifact store."""

    code = "artifact_missing"
    default_hint = "Import the package again."


class UnknownExport(ToolUnavailable):
    """The package has no tool of this name."""

    code = "unknown_export"
    default_hint = "Import the package again: its tools may have been renamed."


class HostRefused(ToolError):
    """The tool may not reach this host."""

    code = "host_refused"
    status = HTTPStatus.FORBIDDEN


class UpstreamUnreachable(ToolError):
    """The service that the tool asks could not be reached."""

    code = "upstream_unreachable"
    default_hint = "Check the address, or try again later."


class UpstreamError(ToolError):
    """The service that the tool asks answered with an error."""

    code = "upstream_error"
    default_hint = "Read the service's answer; correct the arguments, or try again later."


class UpstreamAuth(UpstreamError):
    """The service that the tool asks did not accept the sign-in."""

    code = "upstream_auth"
    actor = "owner"
    default_hint = "Check the tool's credential: it may be wrong, expired or lack a right."


class UpstreamRateLimited(UpstreamError):
    """The service that the tool asks takes no more requests at the moment."""

    code = "upstream_rate_limited"
    default_hint = "Wait a while, then try again."


class ResponseTooLarge(OutputRejected):
    """The service answered with more than is taken."""

    code = "response_too_large"
    actor = "owner"
    counts_against_health = False
    default_hint = "Ask the service for less: a page, a filter or fewer fields."
