"""Give people roles, on Django's own page of people."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest

from registry.roles import Role, role_give


def _giving(role: Role) -> Callable[[Any, HttpRequest, QuerySet[User]], None]:
    @admin.action(description=f"Give the role {role}", permissions=["change"])
    def give(self: Any, request: HttpRequest, chosen: QuerySet[User]) -> None:
        people = list(chosen)
        for person in people:
            role_give(person, role)
            self.log_change(request, person, f"Role: {role}")
        names = ", ".join(person.username for person in people[:10])
        self.message_user(request, f"Now {role}: {names}.", messages.SUCCESS)

    give.__name__ = f"give_{role}"
    return give


class RoleAdmin(UserAdmin[User]):
    """People, with the actions that give a role. It takes the permission to change people."""

    actions = tuple(_giving(role) for role in Role)
    readonly_fields = ("last_login", "date_joined")


admin.site.unregister(User)
admin.site.register(User, RoleAdmin)
