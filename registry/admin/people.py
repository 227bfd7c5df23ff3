"""Give people roles, and take leave of them, on Django's own page of people."""

from collections.abc import Callable, Sequence
from typing import Any, cast

from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from registry.admin.leaving import kept_for, people_locked
from registry.roles import BESIDE, Role, registrar_distrust, registrar_trust, role_give

STAYS = (
    "What people made and did stays, with who did it, and so do they. Take “Active” away from them "
    "instead: they cannot sign in, and their tokens, runs and turns end."
)


def _giving(role: Role) -> Callable[[Any, HttpRequest, QuerySet[User]], None]:
    @admin.action(description=f"Give the role {role}", permissions=["change"])
    def give(self: Any, request: HttpRequest, chosen: QuerySet[User]) -> None:
        people = list(chosen)
        for person in people:
            role_give(person, role, by=cast(User, request.user))
            self.log_change(request, person, f"Role: {role}")
        names = ", ".join(person.username for person in people[:10])
        self.message_user(request, f"Now {role}: {names}.", messages.SUCCESS)

    give.__name__ = f"give_{role}"
    return give


@admin.action(description="Trust as registrar", permissions=["trust"])
def trust(self: Any, request: HttpRequest, chosen: QuerySet[User]) -> None:
    """Let what these people register be used without a review of each."""
    people = list(chosen)
    for person in people:
        registrar_trust(person, by=cast(User, request.user))
        self.log_change(request, person, "Trusted as registrar")
    names = ", ".join(person.username for person in people[:10])
    self.message_user(request, f"What they register is live at once: {names}.", messages.SUCCESS)


@admin.action(description="No longer trust as registrar", permissions=["trust"])
def distrust(self: Any, request: HttpRequest, chosen: QuerySet[User]) -> None:
    """Have what these people register wait for review again."""
    people = list(chosen)
    for person in people:
        registrar_distrust(person, by=cast(User, request.user))
        self.log_change(request, person, "No longer trusted as registrar")
    names = ", ".join(person.username for person in people[:10])
    self.message_user(request, f"What they register waits for review: {names}.", messages.SUCCESS)


class RoleAdmin(UserAdmin[User]):
    """People, with the actions that give a role, which take the permission to change people.

    Whose registered tools are trusted is for governors to say.
    """

    actions = (*(_giving(role) for role in Role if role not in BESIDE), trust, distrust)
    readonly_fields = ("last_login", "date_joined")

    def has_trust_permission(self, request: HttpRequest) -> bool:
        """Say whether somebody may run the actions about registrars."""
        return cast(User, request.user).has_perm("registry.change_tool")

    def response_action(self, *args: Any, **options: Any) -> HttpResponse | None:
        """Carry an action out in one transaction, as the page that deletes one person does."""
        with transaction.atomic():
            return super().response_action(*args, **options)

    def get_deleted_objects(
        self, objs: QuerySet[User] | Sequence[User], request: HttpRequest
    ) -> tuple[list[Any], dict[str, int], set[str], list[Any]]:
        """Return what goes with people, or what keeps them, which nothing is made of meanwhile.

        Who may delete people needs no right to each kind of row that goes with them: tokens and
        schedules have no page that deletes them.
        """
        if transaction.get_connection().in_atomic_block:
            people_locked(objs)
        if kept := kept_for(objs):
            self.message_user(request, STAYS, messages.WARNING)
            return [], {}, set(), kept
        going, counts, _, kept = super().get_deleted_objects(objs, request)
        return going, counts, set(), kept


admin.site.unregister(User)
admin.site.register(User, RoleAdmin)
