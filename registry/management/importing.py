"""What the commands that import have in common: they wait for the import and tell how it went."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.lib.errors import DomainError
from registry.importing.jobs import import_run
from registry.models import ImportJob, Package, Proposal
from registry.models.package import ReviewStatus
from registry.review.applied import REASON
from registry.services import package_review

APPROVED = "Approved by the operator at the command line."


class ImportCommand(BaseCommand):
    """Imports tools here and now; what from is said by `job_of`."""

    def add_arguments(self, parser: CommandParser) -> None:
        """Take whether to approve the package at once."""
        parser.add_argument(
            "--approve", action="store_true", help="let everyone use its tools at once"
        )

    def job_of(self, options: dict[str, Any]) -> ImportJob | None:
        """Return the job that is asked for; None when there is nothing to import."""
        raise NotImplementedError

    def handle(self, *_args: Any, **options: Any) -> None:
        """Import, telling each stage and each tool."""
        try:
            job = self.job_of(options)
        except DomainError as error:
            raise CommandError(f"{error.message} {error.hint} ({error.code})") from error
        if job is None:
            return
        if import_run(job.pk, told=self.stdout.write) is None:
            raise CommandError(f"{job.name} is being imported already; see the packages page.")
        job.refresh_from_db()
        if job.error:
            raise CommandError("{message} {hint} ({code})".format(**job.error))
        for entry in job.report:
            self.stdout.write(f"  {entry['status']:<9} {entry['export']} {entry['message']}")
        package = Package.objects.get(jobs=job)
        for finding in package.findings:
            self.stdout.write(f"  {finding['code']}: {finding['path']}: {finding['message']}")
        if options["approve"]:
            package_review(package, status=ReviewStatus.APPROVED, reason=APPROVED)
        elif package.review_status == ReviewStatus.APPROVED:
            self.stdout.write(f"  You are the operator: {self._applied(package, job)}")
        status = package.get_review_status_display().lower()
        self.stdout.write(self.style.SUCCESS(f"{package} is imported ({status})."))

    def _applied(self, package: Package, job: ImportJob) -> str:
        """Say what was applied, and under which decision it is kept."""
        record = Proposal.objects.filter(
            package=package, decision_reason=REASON, opened_at__gte=job.created_at
        ).first()
        if record is None:
            return "nothing that a review decides on has changed."
        return f"what changed was applied without a review, and is kept as decision {record.pk}."
