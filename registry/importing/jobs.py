"""Imports in the background: asked for, claimed by one worker, told as they go, ended."""

import logging
import re
from datetime import timedelta
from uuid import UUID

from celery import current_app
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.module_loading import import_string
from kombu.exceptions import OperationalError

from config.lib.errors import DomainError, InvalidInput
from config.lib.jsontext import storable
from config.lib.types import JsonObject
from registry.importing.access import require_may_change
from registry.importing.errors import (
    ImportFailed,
    ImportInterrupted,
    InvalidPackageName,
    InvalidPackageVersion,
    QueueUnavailable,
)
from registry.importing.mcp_sources import checked_mcp
from registry.importing.npm import Imported, Stage
from registry.importing.openapi_requests import checked_openapi
from registry.importing.python_requests import PYTHON, canonical_name, checked_python
from registry.importing.uploads import module_keep, read_module, upload_of
from registry.models import ImportJob, Package, Upload
from registry.models.job import JobCause, JobStatus
from registry.models.package import Ecosystem
from registry.review.proposed import package_as_proposed

logger = logging.getLogger(__name__)

TASK = "registry.run_import"
IMPORTERS = {
    Ecosystem.NPM: "registry.importing.npm.npm_import_job",
    Ecosystem.MCP: "registry.importing.mcp.mcp_import",
    Ecosystem.OPENAPI: "registry.importing.openapi_import.openapi_import",
    Ecosystem.PYPI: "registry.importing.python.python_import",
    Ecosystem.LOCAL: "registry.importing.python.python_import",
    Ecosystem.UPLOAD: "registry.importing.python.python_import",
}
"""Ecosystem → dotted path of `(job, stage) → Imported`, imported at its first use."""

LONGEST_IMPORT = timedelta(minutes=10)
"""After this a running import is taken for dead: its worker was stopped or killed."""

_NPM_NAME = re.compile(r"^(?:@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~-][a-z0-9._~-]*$")
_LONGEST_NPM_NAME = 214
_NPM_VERSION = re.compile(r"^[A-Za-z0-9^~<>=*.+ |-]{0,64}$")


def ignore_stage(text: str) -> None:
    """Drop a stage."""


def import_request(
    *,
    ecosystem: str,
    name: str,
    version: str = "",
    settings: JsonObject | None = None,
    user: User | None,
    queued: bool = True,
    cause: JobCause = JobCause.IMPORT,
    upload: Upload | None = None,
) -> ImportJob:
    """Ask for the import of a package and return its job; an open one for the same is returned.

    `version` is a version, a range, a tag, or empty for the newest. `settings` are those that the
    ecosystem asks for; without them those of the package that is here. A job that is not `queued`
    is left for the caller to run. What a sync asks for (`cause`) is never applied at once. `upload`
    is the module that the person has just sent, whoever sent the same one first.

    Raises InvalidInput, InvalidPackageName, InvalidPackageVersion,
    PackageExists, NotAllowed and PackageNotYours.
    """
    name, version = canonical_name(ecosystem, name.strip()), version.strip()
    package = Package.objects.filter(ecosystem=ecosystem, name=name).first()
    present = package_as_proposed(package) if package else None
    if ecosystem == Ecosystem.UPLOAD:
        version = (upload or upload_of(name, version, present, user)).digest
    settings = _checked(ecosystem, name, version, storable(settings), present, user)
    if package is not None:
        require_may_change(package, user)
    wanted = {
        "ecosystem": ecosystem,
        "name": name,
        "version": version,
        "requested_by": user,
        "cause": cause,
    }
    _end_interrupted(ImportJob.objects.filter(**wanted))
    try:
        with transaction.atomic():
            job = ImportJob.objects.create(
                **wanted, settings=settings, package=package, stage="Waiting for a worker"
            )
    except IntegrityError:  # the same request is open already
        return ImportJob.objects.filter(**wanted).latest("created_at")
    if queued:
        transaction.on_commit(lambda: _enqueue(job))
    return job


def upload_request(
    content: bytes,
    *,
    filename: str,
    name: str = "",
    settings: JsonObject | None = None,
    user: User | None,
    queued: bool = True,
) -> ImportJob:
    """Keep an uploaded module and ask for its import; see `read_module` and `import_request`.

    Raises InvalidUpload, PackageNotYours and InvalidInput; then nothing is kept.
    """
    module = read_module(content, filename, name.strip())
    with transaction.atomic():
        package = Package.objects.filter(ecosystem=Ecosystem.UPLOAD, name=module.name).first()
        if package is not None:
            require_may_change(package, user)
        upload = module_keep(module, filename=filename, user=user)
        return import_request(
            ecosystem=Ecosystem.UPLOAD,
            name=upload.name,
            version=upload.digest,
            settings=settings,
            user=user,
            queued=queued,
            upload=upload,
        )


def import_run(job_id: UUID, *, told: Stage = ignore_stage) -> ImportJob | None:
    """Carry out a queued import and return its job; None when somebody else has it.

    `told` hears of each stage, beside the job's own row.
    """
    claimed = ImportJob.objects.filter(pk=job_id, status=JobStatus.QUEUED).update(
        status=JobStatus.RUNNING, started_at=timezone.now()
    )
    if not claimed:
        return None
    job = ImportJob.objects.select_related("requested_by").get(pk=job_id)

    def stage(text: str) -> None:
        _tell(job, text)
        told(text)

    try:
        imported = import_string(IMPORTERS[Ecosystem(job.ecosystem)])(job, stage)
    except DomainError as error:
        _end(job, error=error)
    except Exception as error:  # the boundary of a job: whatever happens, the job must end
        logger.exception("The import of %s failed unexpectedly", job.name)
        _end(job, error=ImportFailed(f"The import of {job.name} failed: {type(error).__name__}."))
    else:
        _end(job, imported=imported)
    return job


def import_again(job: ImportJob, *, user: User | None) -> ImportJob:
    """Ask for the same import once more."""
    return import_request(
        ecosystem=job.ecosystem,
        name=job.name,
        version=job.version,
        settings=job.settings or None,
        user=user,
    )


def _checked(
    ecosystem: str,
    name: str,
    version: str,
    settings: JsonObject | None,
    package: Package | None,
    user: User | None,
) -> JsonObject:
    """Check a request and return its settings, in full."""
    if ecosystem == Ecosystem.NPM:
        _check_npm(name, version)
        return {}
    if ecosystem in PYTHON:
        return checked_python(ecosystem, name, version, settings, package, user)
    if ecosystem == Ecosystem.MCP:
        return checked_mcp(name, version, settings, package)
    if ecosystem == Ecosystem.OPENAPI:
        return checked_openapi(name, version, settings, package, user)
    raise InvalidInput(
        f"Packages of “{ecosystem}” cannot be imported.", "Choose npm, pypi, local, mcp or openapi."
    )


def _check_npm(name: str, version: str) -> None:
    if not _NPM_NAME.fullmatch(name) or len(name) > _LONGEST_NPM_NAME:
        raise InvalidPackageName(f"“{name[:80]}” is not the name of an npm package.")
    if not _NPM_VERSION.fullmatch(version):
        raise InvalidPackageVersion(f"“{version[:80]}” is not a version of an npm package.")


def _enqueue(job: ImportJob) -> None:
    try:
        current_app.send_task(TASK, args=[str(job.pk)], retry=False)
    except OperationalError:
        _end(job, error=QueueUnavailable())


def _tell(job: ImportJob, stage: str) -> None:
    job.stage = stage[:200]
    job.save(update_fields=["stage"])


def _end(
    job: ImportJob, *, imported: Imported | None = None, error: DomainError | None = None
) -> None:
    job.status = JobStatus.SUCCEEDED if imported else JobStatus.FAILED
    job.finished_at = timezone.now()
    if imported:
        job.package, job.report = imported.package, storable(imported.report)
        job.stage = "Done"
    if error:
        job.error = storable(error.as_dict())
    job.save()


def _end_interrupted(jobs: QuerySet[ImportJob]) -> None:
    jobs.filter(status=JobStatus.RUNNING, started_at__lt=timezone.now() - LONGEST_IMPORT).update(
        status=JobStatus.FAILED,
        finished_at=timezone.now(),
        error=ImportInterrupted().as_dict(),
    )
