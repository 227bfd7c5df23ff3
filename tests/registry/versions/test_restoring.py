"""Going back to an earlier version of a tool."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from config.lib.errors import NotAllowed
from registry.importing.npm import npm_import
from registry.models import Package, Tool
from registry.models.package import ReviewStatus
from registry.models.tool import HealthState, Visibility
from registry.restoring import RestoreRefused, version_restore
from registry.review.deciding import proposal_approve
from registry.review.selectors import open_proposal_of
from registry.services import package_review, tool_publish, tool_review
from sequences.definition import parse, to_json
from tests import factories
from tests.registry.publishing import SCOPE, running_registry
from tests.registry.sandbox.service import open_folder, running_service

pytestmark = [pytest.mark.sandbox, pytest.mark.django_db]


def reviewer() -> User:
    user = factories.make_user()
    user.user_permissions.add(Permission.objects.get(codename="change_package"))
    return user


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def changed(tool: Tool, words: str) -> None:
    tool.description = words
    tool_publish(tool, author=tool.owner)


def test_its_owner_sees_what_going_back_changes_and_says_why() -> None:
    owner = factories.make_user()
    tool = factories.make_sequence(owner, description="First words.")
    changed(tool, "Second words.")
    client = client_of(owner)
    history = client.get(reverse("registry:version_list", args=[tool.pk])).content.decode()
    url = reverse("registry:version_restore", args=[tool.pk, 1])
    assert url in history

    page = client.get(url).content.decode()
    assert "<del>Second </del>" in page
    assert "<ins>First </ins>" in page
    assert client.post(url, {"reason": "It was clearer"}).status_code == 302
    tool.refresh_from_db()
    assert (tool.version, tool.description) == (3, "First words.")
    assert tool.versions.get(number=3).reason == "Back to version 1: It was clearer"


def test_somebody_elses_tool_does_not_go_back() -> None:
    tool = factories.make_sequence(factories.make_user(), visibility=Visibility.PUBLIC)
    changed(tool, "Second words.")
    stranger = client_of(factories.make_user())
    url = reverse("registry:version_restore", args=[tool.pk, 1])

    assert stranger.get(url).status_code == stranger.post(url).status_code == 403
    assert (
        url not in stranger.get(reverse("registry:version_list", args=[tool.pk])).content.decode()
    )


def test_what_was_approved_before_in_just_this_form_needs_no_approval_again() -> None:
    owner = factories.make_user()
    factories.make_sequence(owner)
    made = to_json(parse(Tool.objects.get(owner=owner).definition))
    tool = factories.make_sequence(
        owner, visibility=Visibility.PUBLIC, description="First.", definition=made
    )
    changed(tool, "Second.")
    restored = version_restore(tool, 1, user=owner)

    assert (restored.version, restored.review_status) == (3, ReviewStatus.APPROVED)
    assert restored.unreviewed_versions == []


def test_what_was_never_approved_waits_for_review() -> None:
    owner = factories.make_user()
    tool = factories.make_sequence(
        owner, visibility=Visibility.PRIVATE, review_status=ReviewStatus.CANDIDATE
    )
    tool.visibility = Visibility.PUBLIC
    changed(tool, "Second.")
    tool_review(tool, status=ReviewStatus.APPROVED)
    tool.refresh_from_db()
    version_restore(tool, 1, user=owner)

    tool.refresh_from_db()
    assert tool.review_status == ReviewStatus.CANDIDATE or 3 in tool.unreviewed_versions


@pytest.fixture(scope="module")
def npm() -> Iterator[Any]:
    """A registry to publish to, and the product's sandbox installing from it."""
    with running_registry() as (registry, address), open_folder() as folder:
        (folder / "npmrc").write_text(f"{SCOPE}:registry={address}\n")
        settings = {"NPM_CONFIG_USERCONFIG": str(folder / "npmrc")}
        with running_service(settings) as service, pytest.MonkeyPatch.context() as patch:
            patch.setenv("SANDBOX_SOCKET", str(service.folder / "sandboxd.sock"))
            yield registry


def approved_version(name: str, user: User) -> Package:
    npm_import(name=f"{SCOPE}/{name}", version="", user=user, stage=lambda _: None)
    package = Package.objects.get(name=f"{SCOPE}/{name}")
    waiting = open_proposal_of(package)
    assert waiting is not None
    accept = {finding["code"] for finding in waiting.findings}
    proposal_approve(waiting, by=user, reason="Read it.", accept=accept)
    package.refresh_from_db()
    return package


def test_a_tool_of_a_package_goes_back_with_the_whole_package(npm: Any) -> None:
    by = reviewer()
    first = "export const shout = tool('Shouts'); export const whisper = tool('Whispers');"
    npm.publish("back", "1.0.0", first)
    old = approved_version("back", by)
    second = "export const shout = tool('Shouts more'); export const cry = tool('Cries');"
    npm.publish("back", "2.0.0", second)
    new = approved_version("back", by)
    assert (old.version, new.version) == ("1.0.0", "2.0.0")
    shout = Tool.objects.get(package=new, export_name="shout")
    assert (shout.version, shout.description) == (2, "Shouts more")

    client = client_of(by)
    url = reverse("registry:version_restore", args=[shout.pk, 1])
    page = client.get(url).content.decode()
    assert "The whole package goes back" in page
    assert "comes back" in page
    assert "is taken out" in page
    assert client.post(url, {"reason": "2.0.0 shouts too much"}).status_code == 302

    new.refresh_from_db()
    assert (new.version, new.artifact, new.integrity) == ("1.0.0", old.artifact, old.integrity)
    assert new.manifest == old.manifest
    living = Tool.objects.filter(package=new, deleted_at=None).order_by("export_name")
    told = [(t.export_name, t.version, t.description, t.health_state) for t in living]
    assert told == [
        ("shout", 3, "Shouts", HealthState.HEALTHY),
        ("whisper", 1, "Whispers", HealthState.HEALTHY),
    ]
    assert all(t.unreviewed_versions == [] for t in living)
    first_again = living[0].versions.get(number=3)
    assert first_again.digest == living[0].versions.get(number=1).digest
    assert first_again.reason == "Back to version 1: 2.0.0 shouts too much"


def test_a_package_whose_code_is_gone_or_other_does_not_go_back(npm: Any) -> None:
    by = reviewer()
    npm.publish("gone", "1.0.0", "export const shout = tool('Shouts');")
    package = approved_version("gone", by)
    shout = Tool.objects.get(package=package)
    package.artifact, package.version = "f" * 64, "9.9.9"
    package.save()
    changed(shout, "Second.")
    package.artifact = "e" * 64
    package.save()
    shout.package = package
    changed(shout, "Third.")

    with pytest.raises(RestoreRefused, match=r"9\.9\.9 cannot be loaded any more"):
        version_restore(shout, 2, user=by)
    shout.refresh_from_db()
    assert shout.version == 3


def test_only_a_reviewer_takes_a_package_back() -> None:
    tool = factories.make_tool()
    changed(tool, "Second.")

    with pytest.raises(NotAllowed, match="Only a reviewer takes a package back"):
        version_restore(tool, 1, user=factories.make_user())
    refused = client_of(factories.make_user()).post(
        f"/api/v1/tools/{tool.pk}/versions/1/restore/", content_type="application/json"
    )
    assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed")


def test_what_cannot_go_back_is_told_why() -> None:
    by = reviewer()
    builtin = factories.make_builtin("calculator")
    changed(builtin, "Second.")
    with pytest.raises(RestoreRefused, match="come with Outfitter"):
        version_restore(builtin, 1, user=by)
    tool = factories.make_tool()
    changed(tool, "Second.")
    with pytest.raises(RestoreRefused, match="runs at a server"):
        version_restore(tool, 1, user=by)
    with pytest.raises(RestoreRefused, match=r"Version 2 of \S+ is live"):
        version_restore(tool, 2, user=by)
    tool.unreviewed_versions = [1]
    tool.save()
    with pytest.raises(RestoreRefused, match="never approved"):
        version_restore(tool, 1, user=by)
    package = tool.package
    assert package is not None
    package_review(package, status=ReviewStatus.QUARANTINED)
    with pytest.raises(RestoreRefused, match="is not approved"):
        version_restore(Tool.objects.get(pk=tool.pk), 1, user=by)
