"""What a feed looks through, page by page."""

from collections.abc import Callable
from dataclasses import dataclass

from config.lib.jsontext import clean_text
from config.lib.types import JsonObject
from registry.errors import RegistryNoSearch, RegistryUnreachable, SandboxUnavailable, ToolError
from registry.models import Package, SyncFeed
from registry.models.package import Ecosystem
from registry.models.sync import SyncKind
from registry.sandbox.client import sandbox
from registry.sandbox.contract import FoundPackage, NewestVersion
from registry.selectors import BLOCKED

SEARCHED_AT_ONCE = 100
LOOKED_UP_AT_ONCE = 10
MOST_FOUND = 10_000
"""Packages of one keyword; a registry that finds more, or the same for ever, is cut off there."""
MOST_LISTED = 2_000
"""Packages of a registry that cannot search by keyword, and so is read whole."""

LOOKED_UP = (Ecosystem.NPM, Ecosystem.PYPI)
"""Ecosystems whose registry tells which version is the newest."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a registry says of one package now.

    `version` is the newest and `integrity` its own, `now` that of the version in use here; empty
    where unknown. `note` says what a reviewer should know; with `error` nothing else is known.
    """

    ecosystem: str
    name: str
    version: str = ""
    integrity: str = ""
    now: str = ""
    note: str = ""
    error: str = ""


@dataclass(frozen=True, kw_only=True)
class Page:
    """What was found, and where to go on; `cursor` is None after the last page."""

    found: list[Found]
    cursor: JsonObject | None


Source = Callable[[SyncFeed, JsonObject], Page]
"""Takes a feed and a cursor, empty at first. Raises RegistryUnreachable and its like."""


def page_of(feed: SyncFeed, cursor: JsonObject) -> Page:
    """Return the page of a feed at a cursor."""
    return SOURCES[SyncKind(feed.kind)](feed, cursor)


def newest_of(ecosystem: str, name: str, current: str = "") -> Found:
    """Look one package up; raises what the sandbox and the registry do."""
    return _found(
        ecosystem, name, sandbox().newest(ecosystem=ecosystem, name=name, current=current)
    )


def keyword_page(feed: SyncFeed, cursor: JsonObject) -> Page:
    """Search npm for a keyword.

    A registry that finds nothing by `keywords:` may not know that qualifier (verdaccio does not);
    it is read whole then, and the keyword looked for here.
    """
    whole, start = bool(cursor.get("whole")), int(cursor.get("from", 0))
    text = "" if whole else f"keywords:{feed.keyword}"
    try:
        found, total = _search(text, start)
    except RegistryNoSearch:
        if whole and start == 0:  # it wants a text, so it knows the qualifier, and has nothing
            return Page(found=[], cursor=None)
        raise
    if not found:
        again = None if whole or start else {"whole": True}
        return Page(found=[], cursor=again)
    after = start + len(found)
    is_last = len(found) < SEARCHED_AT_ONCE and (total is None or after >= total)
    is_last = is_last or after >= (MOST_LISTED if whole else MOST_FOUND)
    return Page(
        found=[
            Found(ecosystem=Ecosystem.NPM, name=item.name, version=clean_text(item.version))
            for item in found
            if _has(item, feed.keyword, whole=whole) and clean_text(item.name) == item.name
        ],
        cursor=None if is_last else {"whole": whole, "from": after},
    )


def known_page(_feed: SyncFeed, cursor: JsonObject) -> Page:
    """Look up the newest versions of packages that are here, a few at a time."""
    packages = Package.objects.filter(ecosystem__in=LOOKED_UP).exclude(review_status__in=BLOCKED)
    if after := cursor.get("after"):
        packages = packages.filter(pk__gt=after)
    batch = list(
        packages.only("pk", "ecosystem", "name", "version").order_by("pk")[:LOOKED_UP_AT_ONCE]
    )
    is_last = len(batch) < LOOKED_UP_AT_ONCE
    return Page(
        found=[_looked_up(package) for package in batch],
        cursor=None if is_last else {"after": str(batch[-1].pk)},
    )


SOURCES: dict[SyncKind, Source] = {SyncKind.KEYWORD: keyword_page, SyncKind.KNOWN: known_page}


def _search(text: str, start: int) -> tuple[tuple[FoundPackage, ...], int | None]:
    page = sandbox().search(ecosystem=Ecosystem.NPM, text=text, offset=start, size=SEARCHED_AT_ONCE)
    if start and not page.packages:
        # verdaccio takes `size` for the place where a page ends, not for its length.
        end = start + SEARCHED_AT_ONCE
        page = sandbox().search(ecosystem=Ecosystem.NPM, text=text, offset=start, size=end)
    return page.packages, page.total


def _has(item: FoundPackage, keyword: str, *, whole: bool) -> bool:
    if not item.keywords:
        return not whole
    return keyword.lower() in (word.lower() for word in item.keywords)


def _looked_up(package: Package) -> Found:
    try:
        return newest_of(package.ecosystem, package.name, package.version)
    except (RegistryUnreachable, SandboxUnavailable):  # says nothing of this package
        raise
    except ToolError as error:
        return Found(ecosystem=package.ecosystem, name=package.name, error=error.message)


def _found(ecosystem: str, name: str, told: NewestVersion) -> Found:
    return Found(
        ecosystem=ecosystem,
        name=name,
        version=clean_text(told.newest.version),
        integrity=clean_text(told.newest.integrity),
        now=clean_text(told.current.integrity),
        note=_note(ecosystem, told),
    )


def _note(ecosystem: str, told: NewestVersion) -> str:
    notes = []
    if ecosystem == Ecosystem.NPM and told.newest.version and not told.current.version:
        notes.append("The registry no longer has the version in use: it was unpublished.")
    if told.current.deprecated:
        notes.append(f"The version in use is deprecated: {told.current.deprecated}")
    if told.newest.install_scripts:
        notes.append("The newest version has install scripts; they are never run here.")
    return " ".join(notes)
