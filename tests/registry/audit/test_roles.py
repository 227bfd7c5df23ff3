"""The groups of governance: on every database, mended when something is missing."""

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, Permission, User
from django.core.management import CommandError, call_command

from registry.models import AuditEvent
from registry.roles import PERMISSIONS, Role, make_roles, role_give, teams_of
from tests import factories

pytestmark = pytest.mark.django_db


def permissions_of(role: Role) -> set[str]:
    """Return what the group of a role may do, as `app.codename`."""
    found = Permission.objects.filter(group__name=role.value)
    return {
        f"{app}.{name}" for app, name in found.values_list("content_type__app_label", "codename")
    }


def migrated() -> None:
    """Do what comes at the end of every `migrate`."""
    for app in apps.get_app_configs():
        make_roles(app, using="default")


@pytest.mark.parametrize("role", Role)
def test_a_fresh_database_has_each_role_with_its_permissions(role: Role) -> None:
    assert permissions_of(role) == set(PERMISSIONS[role])


def test_a_permission_that_a_role_lacks_comes_back_and_what_was_added_stays() -> None:
    group = Group.objects.get(name="auditor")
    group.permissions.remove(Permission.objects.get(codename="view_package"))
    group.permissions.add(Permission.objects.get(codename="view_session"))
    migrated()
    migrated()
    assert permissions_of(Role.AUDITOR) == {*PERMISSIONS[Role.AUDITOR], "sessions.view_session"}


def test_a_deleted_role_comes_back() -> None:
    Group.objects.filter(name="governor").delete()
    migrated()
    assert permissions_of(Role.GOVERNOR) == set(PERMISSIONS[Role.GOVERNOR])


def test_an_auditor_may_change_nothing() -> None:
    assert all(".view_" in permission for permission in PERMISSIONS[Role.AUDITOR])


def test_nobody_of_a_role_may_give_roles() -> None:
    for role in Role:
        assert not {"auth.change_user", "auth.change_group"} & set(PERMISSIONS[role])


def test_a_role_replaces_the_one_before_and_leaves_teams_alone(alice: User) -> None:
    team = factories.make_team("team", alice)
    role_give(alice, Role.GOVERNOR)
    role_give(alice, Role.AUDITOR)
    assert set(alice.groups.values_list("name", flat=True)) == {"team", "auditor"}
    assert list(teams_of(alice)) == [team]


def test_only_governance_may_enter_the_admin(alice: User) -> None:
    role_give(alice, Role.GOVERNOR)
    assert User.objects.get(pk=alice.pk).is_staff
    role_give(alice, Role.OWNER)
    assert not User.objects.get(pk=alice.pk).is_staff


def test_a_superuser_keeps_the_way_in(governor: User) -> None:
    role_give(governor, Role.OWNER)
    assert User.objects.get(pk=governor.pk).is_staff


def test_the_command_gives_a_role_and_the_audit_tells_why(
    alice: User, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("role", "alice", "auditor", reason="joined the audit team")
    assert "alice is now auditor and may enter the admin." in capsys.readouterr().out
    events = AuditEvent.objects.filter(subject_model="auth.user", subject_id=str(alice.pk))
    told = set(events.values_list("model", "operation", "object_label", "reason"))
    assert ("auth.user_groups", "insert", "alice in auditor", "joined the audit team") in told
    assert ("auth.user", "update", "alice", "joined the audit team") in told


def test_the_command_names_who_is_not_there() -> None:
    with pytest.raises(CommandError, match="There is no active user “nobody”"):
        call_command("role", "nobody", "owner")
