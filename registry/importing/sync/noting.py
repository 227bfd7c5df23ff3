"""Keep what a registry tells of packages that are here, which no review decides on."""

from collections.abc import Iterable

from registry.importing.sync.sources import Found
from registry.models import Package

MARKED = 0.1
"""Share by which downloads change before they are written: each write has every process read the
packages anew, and they only order equals."""


def registry_note(page: Iterable[Found]) -> None:
    """Write the downloads and deprecated versions that a page tells of, where they changed."""
    found = {(item.ecosystem, item.name): item for item in page if not item.error}
    told = [item.name for item in found.values() if _tells(item)]
    packages = Package.objects.filter(name__in=told)
    for package in packages.only("pk", "ecosystem", "name", "downloads", "deprecations"):
        item = found.get((package.ecosystem, package.name))
        if item is not None and (changed := _changed(package, item)):
            Package.objects.filter(pk=package.pk).update(**changed)


def _tells(item: Found) -> bool:
    return item.downloads is not None or item.deprecated is not None


def _changed(package: Package, item: Found) -> dict[str, object]:
    changed: dict[str, object] = {}
    known = package.downloads
    if item.downloads is not None and (
        known is None or abs(item.downloads - known) > MARKED * known
    ):
        changed["downloads"] = item.downloads
    if item.deprecated is not None and item.deprecated != package.deprecations:
        changed["deprecations"] = item.deprecated
    return changed
