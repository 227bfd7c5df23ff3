"""Drop uploaded modules that nothing is made of any more."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import timedelta

from django.db.models import Q
from django.utils import timezone

from registry.models import ImportJob, Package, Proposal, ToolVersion, Upload
from registry.models.job import OPEN
from registry.models.package import Ecosystem
from registry.models.proposal import ProposalState

KEPT_FOR = timedelta(days=1)
"""For how long a module is kept in any case, so that a failed import can be tried again."""

AT_ONCE = 1_000


def uploads_clear() -> int:
    """Delete old uploads that no package, version of a tool, review or import refers to.

    Returns how many. One that is sent again meanwhile is a new one, and stays.
    """
    before = timezone.now() - KEPT_FOR
    old = Upload.objects.filter(created_at__lt=before).order_by("created_at")
    uploads = list(old.values_list("digest", "name")[:AT_ONCE])
    wanted = _referred({name for _, name in uploads})
    unused = [
        digest for digest, name in uploads if not digest.startswith(tuple(wanted.get(name, ())))
    ]
    return Upload.objects.filter(digest__in=unused, created_at__lt=before).delete()[0]


def _referred(names: Iterable[str]) -> dict[str, set[str]]:
    """Return the name of each package → digests, in full or their beginnings, that are in use."""
    of_upload = {"package__ecosystem": Ecosystem.UPLOAD, "package__name__in": list(names)}
    packages = Package.objects.filter(ecosystem=Ecosystem.UPLOAD, name__in=list(names))
    versions = ToolVersion.objects.filter(**{f"tool__{key}": v for key, v in of_upload.items()})
    waiting = Proposal.objects.filter(**of_upload, state=ProposalState.OPEN)
    recent = Q(status__in=OPEN) | Q(created_at__gte=timezone.now() - KEPT_FOR)
    jobs = ImportJob.objects.filter(recent, ecosystem=Ecosystem.UPLOAD, name__in=list(names))
    rows = [
        *packages.values_list("name", "version"),
        *versions.values_list("tool__package__name", "snapshot__package__version").distinct(),
        *waiting.values_list("package__name", "after__version"),
        *jobs.values_list("name", "version"),
    ]
    referred = defaultdict(set)
    for name, version in rows:
        if version:
            referred[name].add(version)
    return referred
