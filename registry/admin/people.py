"""Give people roles, on Django's own page of people."""

from collections.abc import Callable
from typing import Any, cast

from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest

from registry.roles import BESIDE, Role, registrar_distrust, registrar_trust, role_give


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


admin.site.unregister(User)
admin.site.register(User, RoleAdmin)
