"""The audit of who may do what. Users and groups are Django's, so proxies carry the triggers."""

from django.contrib.auth.models import Group, User

from registry.models.audit_triggers import audited

_NAME_OF_USER = "(SELECT username FROM auth_user WHERE id = item.user_id)"
_NAME_OF_GROUP = "(SELECT name FROM auth_group WHERE id = item.group_id)"
_PERMISSION = (
    "(SELECT c.app_label || '.' || p.codename FROM auth_permission p"
    " JOIN django_content_type c ON c.id = p.content_type_id WHERE p.id = item.permission_id)"
)


class AuditedUser(User):
    """People: their name and what they may do at all. Neither password nor address is kept."""

    class Meta:
        proxy = True
        default_permissions = ()
        triggers = audited(
            "user",
            "username",
            "is_active",
            "is_staff",
            "is_superuser",
            label="item.username",
        )


class AuditedGroup(Group):
    """Groups: teams and roles."""

    class Meta:
        proxy = True
        default_permissions = ()
        triggers = audited("group", "name", label="item.name")


class AuditedMembership(User.groups.through):  # type: ignore[name-defined,misc]
    """Who is in which group."""

    class Meta:
        proxy = True
        default_permissions = ()
        triggers = audited(
            "membership",
            "user",
            "group",
            label=f"{_NAME_OF_USER} || ' in ' || {_NAME_OF_GROUP}",
            subject=("'auth.user'", "item.user_id"),
        )


class AuditedUserPermission(User.user_permissions.through):  # type: ignore[name-defined,misc]
    """What a person may do beside their groups."""

    class Meta:
        proxy = True
        default_permissions = ()
        triggers = audited(
            "user_permission",
            "user",
            "permission",
            label=f"{_NAME_OF_USER} || ' may ' || {_PERMISSION}",
            subject=("'auth.user'", "item.user_id"),
        )


class AuditedGroupPermission(Group.permissions.through):  # type: ignore[name-defined,misc]
    """What the people of a group may do."""

    class Meta:
        proxy = True
        default_permissions = ()
        triggers = audited(
            "group_permission",
            "group",
            "permission",
            label=f"{_NAME_OF_GROUP} || ' may ' || {_PERMISSION}",
            subject=("'auth.group'", "item.group_id"),
        )
