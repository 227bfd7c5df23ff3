"""How one tool stands at the moment of a call: what review, its makers and governors say of it."""

from collections.abc import Collection
from decimal import Decimal
from functools import cache
from typing import Any, NamedTuple
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import QuerySet

from config.lib.prepared import Worded, first_row
from registry.models import Tool
from registry.models.package import ReviewStatus
from registry.models.tool import Health, Visibility
from registry.selectors import BLOCKED, RUNS


class Standing(NamedTuple):
    """What decides, at each call, whether a tool may be used; read fresh in one short query."""

    owner_id: int | None
    team_id: int | None
    visibility: str
    review_status: str
    package_review: str | None
    package_added_by: int | None
    import_health: str
    execution_health: str
    required_scopes: list[str]
    unreviewed_versions: list[int]
    blocked_versions: list[int]
    allowed_hosts: list[str] | None
    stopped_reason: str
    package_stopped_reason: str | None
    package_name: str | None
    calls_per_minute: int | None
    cost_per_call: Decimal | None

    def usable_by(self, user: User) -> bool:
        """Say what `tools_usable_by` says, for this one tool; a test holds the two together."""
        return self.open_to(user) and not self.is_stopped

    @property
    def is_stopped(self) -> bool:
        """Say whether a governor stopped it or its package; a stop always has a reason."""
        return bool(self.stopped_reason or self.package_stopped_reason)

    def open_to(self, user: User) -> bool:
        """Say whether it is this person's to call, stopped or not."""
        if self.review_status in BLOCKED or self.package_review in BLOCKED:
            return False
        if self.is_made_by(user):
            return True
        if self.visibility == Visibility.PUBLIC:
            return self._is_approved
        return self.visibility == Visibility.TEAM and user.groups.filter(pk=self.team_id).exists()

    def seen_by(self, user: User) -> bool:
        """Say what `tools_visible_to` says, for this one tool; a test holds the two together."""
        if self.is_made_by(user):
            return True
        if self.visibility == Visibility.PUBLIC:
            return self._is_approved or user.has_perm("registry.change_package")
        return self.visibility == Visibility.TEAM and user.groups.filter(pk=self.team_id).exists()

    def triable_by(self, user: User) -> bool:
        """Say what `tools_triable_by` says, for this one tool."""
        return self.open_to_trial(user) and not self.is_stopped

    def open_to_trial(self, user: User) -> bool:
        """Say whether it is this person's to call directly, stopped or not."""
        if self.open_to(user):
            return True
        if self.review_status in BLOCKED or self.package_review in BLOCKED:
            return False
        return self.visibility == Visibility.PUBLIC and user.has_perm("registry.change_package")

    def is_made_by(self, user: User) -> bool:
        """Say whether the tool, or its package, is this person's own."""
        return user.pk in (self.owner_id, self.package_added_by)

    def vouches_for(self, version: int) -> bool:
        """Say whether review has approved the tool as it was in this version.

        Whoever made a tool may call what nobody has looked at. Anybody else, whom a sequence or an
        agent of theirs may lead to an old version, must not be given it, nor lend it a key.
        """
        return self._is_approved and version not in self.unreviewed_versions

    @property
    def _is_approved(self) -> bool:
        approved = (ReviewStatus.APPROVED, None)
        return self.review_status == ReviewStatus.APPROVED and self.package_review in approved

    @property
    def is_healthy(self) -> bool:
        """Say whether both healths are good."""
        return self.import_health == self.execution_health == Health.HEALTHY


_STANDS = (
    "owner_id",
    "team_id",
    "visibility",
    "review_status",
    "package__review_status",
    "package__added_by_id",
    "import_health",
    "execution_health",
    "required_scopes",
    "unreviewed_versions",
    "blocked_versions",
    "package__allowed_hosts",
    "stopped_reason",
    "package__stopped_reason",
    "package__name",
    "calls_per_minute",
    "cost_per_call",
)
"""Where the fields of a Standing are, in their order."""

_LOADED = ("kind", "wire_name", "version", "deprecated_on", "package_id")
_SUCCESSOR = ("successor__wire_name", "successor__deleted_at")


def standing_of(tool_id: UUID) -> Standing | None:
    """Return how a tool stands now, or None when it is gone."""
    row = first_row(_standing_sql(), [tool_id])
    return Standing(*row) if row else None


@cache
def _standing_sql() -> str:
    """Return the query of `standing_of`, worded once.

    Every call asks it, and Django takes longer to word it than PostgreSQL to answer.
    """
    tools = Tool.objects.filter(pk=UUID(int=0), deleted_at=None).order_by()
    sql: str = tools.values_list(*_STANDS).query.sql_with_params()[0]
    return sql


class Named(NamedTuple):
    """A living tool that a call names, and how it stands."""

    tool: Tool
    standing: Standing


def named_by_id(tool_id: UUID) -> Named | None:
    """Return the living tool with this id, whoever may see it, in one prepared statement.

    Of its row only what a call needs is read; the rest follows at need.
    """
    return _first(_by_id.all(tool_id))


def named(wire_name: str) -> Named | None:
    """Return the living tool of this name, as `named_by_id` does."""
    return _first(_by_name.all(wire_name))


def _first(tools: list[Tool]) -> Named | None:
    return (
        Named(tools[0], Standing(*(_read(tools[0], name) for name in _STANDS))) if tools else None
    )


def _read(tool: Tool, name: str) -> Any:
    of_package, _, field = name.rpartition("__")
    if not of_package:
        return getattr(tool, field)
    return getattr(tool.package, field) if tool.package_id else None


def _living(**which: Any) -> QuerySet[Tool]:
    """Return the query of one living tool; `which` is its only parameter."""
    tools = Tool.objects.filter(deleted_at=None, **which).order_by()
    return tools.select_related("package", "successor").only(*_STANDS, *_LOADED, *_SUCCESSOR)


_by_id = Worded(lambda: _living(pk=UUID(int=0)))
_by_name = Worded(lambda: _living(wire_name=""))


def stops_of(tool_ids: Collection[UUID]) -> dict[UUID, tuple[str, str]]:
    """Return those tools that are stopped now, each with the reason and the package stopped."""
    stopped = Tool.objects.filter(pk__in=tool_ids).exclude(RUNS).order_by()
    rows = stopped.values_list("pk", "stopped_reason", "package__stopped_reason", "package__name")
    return {pk: (own, "") if own else (whole, name) for pk, own, whole, name in rows}
