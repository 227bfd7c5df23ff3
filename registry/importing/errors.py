"""What can keep a package from being imported."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import NamedTuple

from config.lib.errors import Conflict, DomainError, InvalidInput, NotAllowed


class InvalidPackageName(InvalidInput):
    """This is not the name of a package."""

    code = "invalid_package_name"
    default_hint = "Write it as the registry does, such as @scope/name or name."


class InvalidPackageVersion(InvalidInput):
    """This is not a version."""

    code = "invalid_package_version"
    default_hint = "Write 1.2.3, a range such as ^1.2.0, a tag such as latest, or leave it empty."


class PackageExists(Conflict):
    """The package is here already."""

    code = "package_exists"


class PackageNotYours(NotAllowed):
    """Only who added a package, or a reviewer, may change it."""

    code = "package_not_yours"
    default_hint = "Ask a reviewer to refresh it from the admin pages."


class InvalidUpload(InvalidInput):
    """The uploaded file is no Python module that can be imported."""

    code = "invalid_upload"
    default_hint = "Send one .py file, or a .zip or .whl of one package, of at most 2 MB."


class NoTools(DomainError):
    """The package has no tools."""

    code = "no_tools"
    status = HTTPStatus.UNPROCESSABLE_ENTITY
    default_hint = (
        "A tool is an export with `execute` and an input schema, as the AI SDK's `tool()` makes it."
    )


class ImportInterrupted(DomainError):
    """The import was interrupted before it ended."""

    code = "import_interrupted"
    status = HTTPStatus.CONFLICT
    default_hint = "Try again."


class QueueUnavailable(DomainError):
    """The job queue cannot be reached, so the import was not started."""

    code = "queue_unavailable"
    status = HTTPStatus.CONFLICT
    default_hint = "See that Redis and the worker run (/readyz names them), then try again."


class ImportFailed(DomainError):
    """The import failed in a way nobody foresaw."""

    code = "import_failed"
    default_hint = "Try again; if it fails again, the server's log has the details."


class InvalidVariables(InvalidInput):
    """A package cannot be given these variables."""

    code = "invalid_variables"
    default_hint = (
        'Send [{"name": "EXA_API_KEY", "required": true}]; a name is made of A–Z, 0–9 and _.'
    )


class CannotBind(InvalidInput):
    """The tool cannot be bound to this export."""

    code = "cannot_bind"
    default_hint = "See on the package's page what is declared, and what is exported."


class CannotCheck(Conflict):
    """The health of this package's tools cannot be looked at."""

    code = "cannot_check"
    default_hint = "Call the tool instead: one successful call shows that it is well."


class NothingTold(Conflict):
    """A look at the tools came to nothing, without saying anything of them."""

    code = "nothing_told"
    default_hint = "It is tried again in a few hours; call a tool to see whether it is well."


class DocumentProblem(NamedTuple):
    """One thing that is wrong in an OpenAPI document and its place, such as `$.info.title`."""

    path: str
    message: str


class InvalidDocument(InvalidInput):
    """The OpenAPI document cannot be read."""

    code = "invalid_openapi_document"
    default_hint = "Correct the named places in the document, then import it again."

    def __init__(self, problems: Sequence[DocumentProblem], hint: str = "") -> None:
        self.problems = list(problems)
        told = "; ".join(f"{problem.path}: {problem.message}" for problem in self.problems[:5])
        super().__init__(
            f"The OpenAPI document cannot be used: {told}",
            hint,
            problems=[problem._asdict() for problem in self.problems],
        )


class UnknownSelection(InvalidInput):
    """The selection names operations that the document does not have."""

    code = "unknown_operations"
    default_hint = "Name operations by operationId or “GET /path”, or all of a tag by “tag:name”."
