"""The roles of governance: groups of people, and what each group may do.

Code asks for permissions and never for a group's name; this table is the one place where both
meet. The groups are made at each `migrate`, so that they are on every database and get the
permissions that a newer release adds. What an operator gave a group besides is left to it.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from django.apps import AppConfig
from django.contrib.auth.management import create_permissions
from django.contrib.auth.models import Group, Permission, User
from django.db import transaction
from django.db.models import Q, QuerySet

from config.lib.changes import changing, decided
from config.lib.errors import NotAllowed


class Role(StrEnum):
    """A group that the product makes; docs/reference/roles.md says what each is for."""

    GOVERNOR = "governor"
    AUDITOR = "auditor"
    OWNER = "owner"
    REGISTRAR = "registrar"


_READ = (
    "registry.view_package",
    "registry.view_tool",
    "registry.view_toolversion",
    "registry.view_proposal",
    "registry.view_importjob",
    "registry.view_invocation",
    "registry.view_invocation_content",
    "registry.view_auditevent",
    "registry.view_retentionpolicy",
    "registry.view_searchweights",
    "registry.view_syncfeed",
    "registry.view_syncrun",
    "registry.view_syncentry",
    "registry.view_upload",
    "registry.view_eventsubscription",
    "registry.view_healthchange",
    "registry.view_toolusage",
    "registry.view_toolusageday",
    "registry.view_personusageday",
    "registry.view_siteusage",
    "registry.view_errorusage",
    "agents.view_agent",
    "agents.view_agenttool",
    "agents.view_approvalrule",
    "agents.view_experiment",
    "agents.view_arm",
    "agents.view_armtool",
    "agents.view_modelusage",
    "agents.view_oauthclient",
    "oauth2_provider.view_accesstoken",
    "oauth2_provider.view_refreshtoken",
    "sequences.view_schedule",
    "sequences.view_webhook",
    "auth.view_user",
    "auth.view_group",
)

PERMISSIONS: Mapping[Role, tuple[str, ...]] = {
    Role.GOVERNOR: (
        *_READ,
        "registry.change_package",
        "registry.change_tool",
        "registry.change_proposal",
        "registry.change_retentionpolicy",
        "registry.add_searchweights",
        "registry.add_syncfeed",
        "registry.change_syncfeed",
        "registry.change_eventsubscription",
        "registry.trusted_registrar",
        "sequences.change_schedule",
        "sequences.change_webhook",
        "agents.change_oauthclient",
        "oauth2_provider.delete_accesstoken",
        "oauth2_provider.delete_refreshtoken",
    ),
    Role.AUDITOR: _READ,
    Role.OWNER: (),  # what every person may do with what is their own needs no permission
    Role.REGISTRAR: ("registry.trusted_registrar",),
}
"""What each role is given, as `app.codename`."""

IN_ADMIN = frozenset({Role.GOVERNOR, Role.AUDITOR})
"""The roles whose people may enter the Django admin."""


BESIDE = frozenset({Role.REGISTRAR})
"""The roles that a person has beside another one; giving any other role takes them away."""


def make_roles(sender: AppConfig, **signal: Any) -> None:
    """After an app was migrated, make the groups and give them its permissions."""
    codenames = {role: _codenames(role, sender.label) for role in Role}
    if not any(codenames.values()) and sender.label != "auth":
        return
    using = signal["using"]
    # Django makes the permissions on the same signal, in an order that nothing promises.
    create_permissions(sender, verbosity=0, interactive=False, using=using)
    with changing(reason="What the product gives this role"):
        for role, wanted in codenames.items():
            group, _ = Group.objects.using(using).get_or_create(name=role.value)
            group.permissions.add(
                *Permission.objects.using(using).filter(
                    content_type__app_label=sender.label, codename__in=wanted
                )
            )


def _codenames(role: Role, app: str) -> list[str]:
    split = (permission.split(".") for permission in PERMISSIONS[role])
    return [codename for label, codename in split if label == app]


def teams_of(user: User) -> QuerySet[Group]:
    """Return the groups of a person that things can be shared with: all but the roles."""
    return user.groups.exclude(name__in=[role.value for role in Role]).order_by("name", "pk")


@transaction.atomic
def role_give(user: User, role: Role, *, by: User | None = None, reason: str = "") -> None:
    """Give a person this role in place of the one they have, or beside it (`BESIDE`).

    Only people with a role in governance may enter the admin. A superuser, who may do all, keeps
    that way in.
    """
    with decided(by, reason or f"Given the role {role.value}"):
        _give(user, role)


def _give(user: User, role: Role) -> None:
    locked = User.objects.select_for_update().get(pk=user.pk)
    given = Group.objects.get_or_create(name=role.value)[0]
    if role in BESIDE:
        locked.groups.add(given)
        return
    roles = Q(name__in=[each.value for each in Role])
    locked.groups.remove(*locked.groups.filter(roles).exclude(name=role.value))
    locked.groups.add(given)
    locked.is_staff = role in IN_ADMIN or locked.is_superuser
    locked.save(update_fields=["is_staff"])
    user.is_staff = locked.is_staff


@transaction.atomic
def registrar_trust(user: User, *, by: User, reason: str = "") -> None:
    """Let what a person registers be used at once; for governors. Raises NotAllowed."""
    _require_governor(by)
    role_give(user, Role.REGISTRAR, by=by, reason=reason)


@transaction.atomic
def registrar_distrust(user: User, *, by: User, reason: str = "") -> None:
    """Have what a person registers wait for review again; what is live stays. For governors."""
    _require_governor(by)
    with decided(by, reason or "No longer a trusted registrar"):
        user.groups.remove(*user.groups.filter(name=Role.REGISTRAR.value))


def _require_governor(by: User) -> None:
    if not by.has_perm("registry.change_tool"):
        raise NotAllowed("Only a governor says whose tools are trusted.", "Ask a governor.")
