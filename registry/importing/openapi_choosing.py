"""Choosing operations of a document: what is shown, what is chosen, grouped by tag."""

import json
from collections.abc import Collection
from dataclasses import dataclass, replace

from django.contrib.auth.models import User
from django.db.models import Q

from config.lib.types import JsonObject
from registry.importing.access import may_change, reviews_packages
from registry.importing.openapi.naming import slug
from registry.importing.openapi.servers import server_problem, servers_of
from registry.importing.openapi_requests import ALL
from registry.models import ApiDocument, Package
from registry.models.package import Ecosystem

CHOSEN_BY_ITSELF = 20
"""A document of at most so many operations is offered with all of them chosen."""

SHOWN_OPEN = 40
"""A document of at most so many operations is shown with all of its groups open."""

UNTAGGED = "Other"


@dataclass(frozen=True, kw_only=True)
class Group:
    """The shown operations of one tag; rows are those of the overview with `chosen`."""

    tag: str
    rows: list[JsonObject]
    is_open: bool

    @property
    def usable(self) -> int:
        """Return how many of the rows can be chosen."""
        return sum(not row["problem"] for row in self.rows)

    @property
    def chosen(self) -> int:
        """Return how many of the rows are chosen."""
        return sum(row["chosen"] for row in self.rows)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The operations of a document, as far as they are shown (`query`) and chosen."""

    document: ApiDocument
    chosen: frozenset[str]
    query: str = ""
    opened: str = ""
    """The tag whose operations were last chosen or dropped."""

    @property
    def groups(self) -> list[Group]:
        """Return the operations that the search finds, by tag, in the document's order."""
        by_tag: dict[str, list[JsonObject]] = {}
        for row in self.document.overview:
            if self._fits(row):
                shown = {**row, "chosen": row["key"] in self.chosen}
                by_tag.setdefault(row["tag"] or UNTAGGED, []).append(shown)
        is_short = bool(self.query) or self.total <= SHOWN_OPEN or len(by_tag) == 1
        return [
            Group(tag=tag, rows=rows, is_open=is_short or tag == self.opened)
            for tag, rows in by_tag.items()
        ]

    @property
    def hidden(self) -> list[str]:
        """Return what is chosen and not shown, for the form to keep it."""
        keys = (row["key"] for row in self.document.overview if not self._fits(row))
        return [key for key in keys if key in self.chosen]

    @property
    def usable(self) -> int:
        """Return how many operations can be chosen."""
        return sum(not row["problem"] for row in self.document.overview)

    @property
    def total(self) -> int:
        """Return how many operations the document has."""
        return len(self.document.overview)

    def done(self, what: str) -> "Choice":
        """Return the choice after a press of `all`, `none`, `select:TAG` or `clear:TAG`."""
        action, _, tag = what.partition(":")
        shown = {
            row["key"]
            for group in self.groups
            if action in ("all", "none") or group.tag == tag
            for row in group.rows
            if not row["problem"]
        }
        chosen = self.chosen
        if action in ("all", "select"):
            chosen = self.chosen | shown
        elif action in ("none", "clear"):
            chosen = self.chosen - shown
        return replace(self, chosen=frozenset(chosen), opened=tag)

    def _fits(self, row: JsonObject) -> bool:
        told = f"{row['key']} {row['method']} {row['path']} {row['title']} {row['summary']}"
        told = f"{told} {row['tag']}".casefold()
        return all(word in told for word in self.query.casefold().split())


def choice_of(document: ApiDocument, keys: Collection[str], query: str = "") -> Choice:
    """Return what a form says; keys that cannot be chosen are left out."""
    usable = {row["key"] for row in document.overview if not row["problem"]}
    return Choice(document=document, chosen=frozenset(keys) & usable, query=query.strip()[:200])


def first_choice(document: ApiDocument, package: Package | None) -> Choice:
    """Return what is chosen before anybody chose: what the package has, or all of a few."""
    keys = [row["key"] for row in document.overview if not row["problem"]]
    if package is not None and package.settings.get("selection") != ALL:
        return choice_of(document, package.settings.get("selection", ()))
    few = package is not None or len(keys) <= CHOSEN_BY_ITSELF
    return choice_of(document, keys if few else ())


def servers_offered(document: ApiDocument) -> list[str]:
    """Return the full addresses of the document's servers."""
    found = servers_of(json.loads(document.content), document.url)
    return [address for address, _ in found if not server_problem(address)]


def package_before(document: ApiDocument, user: User) -> Package | None:
    """Return the package that this person may renew by the document, the newest one.

    It was made of this very document, of one at the same address, or has the name of its title.
    """
    same = Q(settings__digest=document.digest) | Q(name=slug(document.title))
    if document.url:
        same |= Q(settings__url=document.url)
    packages = Package.objects.filter(same, ecosystem=Ecosystem.OPENAPI).order_by("-updated_at")
    return next((package for package in packages if may_change(package, user)), None)


def document_of(package: Package, user: User) -> ApiDocument | None:
    """Return the document that a package was made of, for those who may choose from it again."""
    found = ApiDocument.objects.filter(digest=package.settings.get("digest", ""))
    if not reviews_packages(user):
        found = found.filter(added_by=user)
    return found.order_by("-created_at").first() if may_change(package, user) else None
