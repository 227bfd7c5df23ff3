"""What can go wrong with a tool, and who has to act on it.

Every class names its `phase` (where in a call it happened) and its `actor` (who can mend it):
the *model* that sent the arguments, the *owner* of the agent or credential, or the *operator*
of the tool. Every class also decides what it says of the tool's own health (`health`).
"""

from enum import StrEnum
from http import HTTPStatus
from typing import Any, ClassVar, Literal

from config.lib.errors import DomainError
from config.lib.types import JsonObject

Phase = Literal["search", "load", "validate", "permission", "approval", "execute"]
Actor = Literal["model", "owner", "operator"]


class Fault(StrEnum):
    """What a failure says of the tool itself, whoever called it."""

    NONE = "none"
    """Nothing: the caller, the review, the sandbox or the way there was at fault."""

    IMPORT = "import"
    """It cannot be loaded."""

    EXECUTION = "execution"
    """It loads, but does not answer as a tool must."""

    REPEATED = "repeated"
    """Nothing at first, for tools fail on odd input; broken when it keeps failing."""

    NEEDS_KEY = "needs_key"
    """It reads a variable that its package was never allowed to read, so nobody can call it."""

    SIGN_IN = "sign_in"
    """A service behind it refused the caller's key; the tool's fault only when all are refused."""

    UPSTREAM = "upstream"
    """A service behind it does not answer now."""


class ToolError(DomainError):
    """The tool call failed.

    Every class below it decides on `health`, or inherits the decision of its parent.
    """

    code = "tool_error"
    phase: Phase = "execute"
    actor: ClassVar[Actor] = "operator"
    health: ClassVar[Fault] = Fault.NONE

    def __init__(
        self,
        message: str = "",
        hint: str = "",
        *,
        tool: str = "",
        phase: Phase | None = None,
        **extra: Any,
    ) -> None:
        super().__init__(message, hint, **extra)
        self.tool = tool
        if phase is not None:
            self.phase = phase

    @property
    def fault(self) -> Fault:
        """Return what this very failure says of the tool."""
        return self.health

    def as_dict(self) -> JsonObject:
        """Return `{code, message, hint, extra}`; `extra` always has `tool` and `phase`."""
        shape = super().as_dict()
        shape["extra"] = {**self.extra, "tool": self.tool, "phase": self.phase}
        return shape


class UnknownTool(ToolError):
    """There is no tool of this name here."""

    code = "unknown_tool"
    health = Fault.NONE
    status = HTTPStatus.NOT_FOUND
    phase = "search"
    actor = "model"
    default_hint = "Use one of the tools that are listed, or search for another."


class InvalidArguments(ToolError):
    """The arguments do not fit the tool's input schema."""

    code = "invalid_arguments"
    health = Fault.NONE
    phase = "validate"
    actor = "model"
    default_hint = "Correct the named fields and call the tool again."


class InvalidEmbed(InvalidArguments):
    """An embed in the arguments cannot be worked out."""

    code = "invalid_embed"
    default_hint = "Correct the embed, or write the value itself."


class ArtifactNotFound(InvalidArguments):
    """There is no such artifact here."""

    code = "artifact_not_found"
    default_hint = "Use one of the artifacts of this conversation."


class ToolInputRejected(ToolError):
    """The tool rejected its input."""

    code = "input_rejected"
    health = Fault.NONE
    phase = "execute"
    actor = "model"
    default_hint = "Read the message, correct the arguments and call the tool again."


class PermissionRefused(ToolError):
    """The caller may not use this tool."""

    code = "permission_refused"
    health = Fault.NONE
    status = HTTPStatus.FORBIDDEN
    phase = "permission"
    actor = "owner"
    default_hint = "Ask the owner of the agent or of the tool for access."


class ToolStopped(ToolError):
    """The tool was stopped."""

    # 403 and not 423: no lock that its holder lets go of, but a decision, which trying again
    # does not change.
    code = "tool_stopped"
    health = Fault.NONE
    status = HTTPStatus.FORBIDDEN
    phase = "permission"
    actor = "owner"
    default_hint = "Use another tool, or ask a governor when it will run again."


class RateLimited(ToolError):
    """The tool was called too often."""

    code = "rate_limited"  # `extra.retry_after_seconds` says when to try again
    health = Fault.NONE
    status = HTTPStatus.TOO_MANY_REQUESTS
    phase = "permission"

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers that tell HTTP clients the limit, and when to try again."""
        wait, most = (self.extra.get(name) for name in ("retry_after_seconds", "calls_per_minute"))
        headers = {"Retry-After": str(wait)} if wait is not None else {}
        if wait is not None and most is not None:
            headers["RateLimit-Policy"] = f'"tool";q={most};w=60'
            headers["RateLimit"] = f'"tool";r=0;t={wait}'
        return headers


class ApprovalDenied(ToolError):
    """The agent's settings deny this tool."""

    code = "approval_denied"
    health = Fault.NONE
    status = HTTPStatus.FORBIDDEN
    phase = "approval"
    actor = "owner"
    default_hint = "Change the tool's approval policy on the agent's settings page."


class InputNeeded(ToolError):
    """The call waits for a person."""

    code = "input_needed"
    health = Fault.NONE
    status = HTTPStatus.CONFLICT
    phase = "approval"
    actor = "owner"
    default_hint = "Call it in a conversation, where a person can answer."


class ApprovalRequired(InputNeeded):
    """The agent's settings want a person to approve this call."""

    code = "approval_required"  # `extra.reason` says which setting
    default_hint = "Approve it in the conversation, or allow the tool in the agent's settings."


class QuestionAsked(InputNeeded):
    """The agent asks its user something."""

    code = "question_asked"  # `extra.question`, `extra.options`


class AgentWaits(InputNeeded):
    """The agent that was asked waits for a person itself."""

    code = "agent_waits"  # `extra.conversation`, `extra.turn`, `extra.agent`
    default_hint = "Answer it in its own conversation, then ask again."


class RunAsks(InputNeeded):
    """The sequence asks a person before it goes on."""

    code = "run_asks"  # `extra.request` is what it asks, `extra.run` the run that goes on then
    default_hint = "Answer it, here or on the page of the run."


class ProgramPaused(InputNeeded):
    """Calls of a program wait for a person; `registry.replay` has what is kept of it."""

    code = "program_paused"


class MissingCredential(ToolError):
    """The tool needs a credential that is not set."""

    code = "missing_credential"
    health = Fault.NONE
    phase = "load"
    actor = "owner"
    default_hint = "Add the named variable under Credentials, then try again."

    @property
    def fault(self) -> Fault:
        """Blame the tool only for variables that its package does not declare (`undeclared`)."""
        return Fault.NEEDS_KEY if self.extra.get("undeclared") else Fault.NONE


class ToolUnavailable(ToolError):
    """The tool cannot be loaded."""

    code = "tool_unavailable"
    health = Fault.NONE
    status = HTTPStatus.CONFLICT
    phase = "load"


class ImportBroken(ToolError):
    """The package cannot be imported."""

    code = "import_broken"
    status = HTTPStatus.CONFLICT
    phase = "load"
    health = Fault.IMPORT
    default_hint = "Ask the author of the package, or import another version."


class SandboxUnavailable(ToolError):
    """The sandbox is not available, so packages cannot run."""

    code = "sandbox_unavailable"
    health = Fault.NONE
    status = HTTPStatus.CONFLICT
    phase = "load"
    default_hint = "Run `manage.py doctor`: it names what is missing and how to get it."


class ToolFailed(ToolError):
    """The tool reported an error."""

    code = "tool_failed"
    health = Fault.REPEATED


class HealthCheckFailed(ToolFailed):
    """The tool failed with the arguments that its package gives for trying it."""

    code = "health_check_failed"  # `extra.cause` is the code of the failure itself
    health = Fault.EXECUTION
    default_hint = "It is tried again soon; ask its author, or use another tool meanwhile."


class NetworkDenied(ToolError):
    """The tool tried to reach a host that it may not."""

    code = "network_denied"  # `extra.hosts` lists them as `host:port`
    health = Fault.NONE
    status = HTTPStatus.FORBIDDEN
    default_hint = "Ask a reviewer to allow the host on the page of the package."


class CodeFailed(ToolError):
    """The code ended with an error."""

    code = "code_failed"
    health = Fault.NONE
    actor = "model"
    default_hint = "Read the message and its line numbers, correct the code and run it again."


class ReplayDiverged(ToolError):
    """A program that had been paused did something else when it was run again."""

    code = "replay_diverged"
    health = Fault.NONE
    actor = "model"
    default_hint = (
        "Nothing that it had called was called again. Let the program do the same in every run: "
        "let it depend on nothing but its arguments, its calls, its clock and `random`."
    )


class ToolCrashed(ToolError):
    """The tool's process ended before it answered."""

    code = "tool_crashed"
    health = Fault.EXECUTION


class ToolTimeout(ToolError):
    """The tool did not answer in time."""

    code = "tool_timeout"
    health = Fault.EXECUTION
    default_hint = "Try a smaller input, or raise the tool's time limit."


class OutputRejected(ToolError):
    """The tool's answer could not be used."""

    code = "output_rejected"
    health = Fault.EXECUTION


class CallCancelled(ToolError):
    """The call was cancelled."""

    code = "cancelled"
    health = Fault.NONE
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


class VersionTooNew(ToolUnavailable):
    """The version was published so lately that the client does not install it yet."""

    code = "version_too_new"


class InvalidPackage(ToolUnavailable):
    """This is not the name or version of a package."""

    code = "invalid_package"
    status = HTTPStatus.BAD_REQUEST
    actor = "owner"


class RegistryUnreachable(ToolUnavailable):
    """The package registry did not answer."""

    code = "registry_unreachable"


class RegistryLimited(RegistryUnreachable):
    """The package registry asks to be left alone for a while; `extra.retry_after` in seconds."""

    code = "registry_limited"


class RegistryRefused(RegistryUnreachable):
    """The package registry does not take the client's credentials."""

    code = "registry_refused"


class RegistryNoSearch(ToolUnavailable):
    """The package registry offers no search."""

    code = "registry_no_search"


class RegistryOdd(ToolUnavailable):
    """What the package registry answers cannot be understood."""

    code = "registry_odd"


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
    health = Fault.IMPORT
    default_hint = "Import the package again: its tools may have been renamed."


class DefinitionChanged(ToolUnavailable):
    """The server no longer takes what was approved of this tool."""

    code = "definition_changed"
    default_hint = "A reviewer has to look at what it says now; ask one."


class ExportDrift(UnknownExport):
    """The package declares the tool under another name than it exports."""

    code = "export_drift"
    default_hint = "Choose on the package's page which export is meant."


class UpstreamUnreachable(ToolError):
    """The service behind the tool does not answer, or has too much to do."""

    code = "upstream_unreachable"
    health = Fault.UPSTREAM
    default_hint = "Try again later."


class SearchTimeout(ToolError):
    """The search for tools did not end in time."""

    code = "search_timeout"
    health = Fault.NONE
    phase = "search"
    default_hint = "Search again in a moment, in fewer words."


class PatternInvalid(ToolError):
    """The pattern is not a regular expression that can be searched for."""

    code = "pattern_invalid"  # `extra.position` is the character that it goes wrong at, from 0
    health = Fault.NONE
    phase = "search"
    actor = "model"
    default_hint = "Correct the pattern, or say in words what the tool has to do."


class PatternTooSlow(ToolError):
    """The pattern takes too long on the texts of the tools and was stopped."""

    code = "pattern_too_slow"
    health = Fault.NONE
    phase = "search"
    actor = "model"
    default_hint = (
        "Use a simpler pattern, without repetitions inside repetitions such as (a+)+, "
        "or say in words what the tool has to do."
    )


class HostRefused(ToolError):
    """The tool may not reach this host."""

    code = "host_refused"
    health = Fault.NONE
    status = HTTPStatus.FORBIDDEN


class UpstreamError(ToolError):
    """The service behind the tool answered with an error."""

    code = "upstream_error"
    health = Fault.NONE
    default_hint = "Read the service's answer; correct the arguments, or try again later."


class UpstreamAuth(UpstreamError):
    """The service behind the tool refused the key that was sent."""

    code = "upstream_auth"
    health = Fault.SIGN_IN
    actor = "owner"
    default_hint = "See under Credentials that the key is right and still valid, then try again."


class UpstreamRateLimited(UpstreamError):
    """The service behind the tool takes no more requests at the moment."""

    code = "upstream_rate_limited"
    health = Fault.UPSTREAM
    default_hint = "Wait a while, then try again."


class ResponseTooLarge(OutputRejected):
    """The service answered with more than is taken."""

    code = "response_too_large"
    actor = "owner"
    health = Fault.NONE
    default_hint = "Ask the service for less: a page, a filter or fewer fields."
