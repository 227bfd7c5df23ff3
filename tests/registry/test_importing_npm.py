"""Packages from a registry of the test's own, through the real sandbox, to rows."""

import pytest

from registry.context import CallContext
from registry.errors import ImportBroken, PackageNotFound, VersionNotFound
from registry.execution import invoke
from registry.importing.errors import NoTools, PackageNotYours
from registry.importing.health_check import package_check
from registry.importing.npm import npm_import
from registry.loading import load_spec
from registry.models import Package, Tool
from registry.models.invocation import Caller
from registry.models.package import ReviewStatus
from registry.models.tool import Health
from registry.results import Succeeded
from registry.selectors import tools_usable_by
from registry.services import package_review
from tests.registry.publishing import SCOPE, running_registry
from tests.registry.sandbox.service import open_folder, running_service

pytestmark = [pytest.mark.sandbox, pytest.mark.django_db]

TWO_TOOLS = "export const shout = tool('Shouts'); export const whisper = tool('Whispers');"


@pytest.fixture(scope="module")
def npm():
    """A registry to publish to, and the product's sandbox installing from it."""
    with running_registry() as (registry, address), open_folder() as folder:
        (folder / "npmrc").write_text(f"{SCOPE}:registry={address}\n")
        settings = {"NPM_CONFIG_USERCONFIG": str(folder / "npmrc")}
        with running_service(settings) as service, pytest.MonkeyPatch.context() as patch:
            patch.setenv("SANDBOX_SOCKET", str(service.folder / "sandboxd.sock"))
            yield registry


def bring(name, user=None, version=""):
    stages = []
    imported = npm_import(name=name, version=version, user=user, stage=stages.append)
    assert stages
    return imported


def statuses(imported):
    return {entry["export"]: entry["status"] for entry in imported.report}


def test_an_imported_tool_runs(npm, alice):
    name = npm.publish(
        "loud",
        "1.0.0",
        "export const shout = tool('Shouts');",
        description="Loud things.",
        tpmjs={
            "category": "text",
            "env": [{"name": "LOUD_KEY", "required": False}],
            "tools": [{"name": "shout", "description": "Declared", "parameters": []}],
        },
    )
    imported = bring(name, alice)

    tool = Tool.objects.get(package=imported.package)
    assert statuses(imported) == {"shout": "added"}
    assert (tool.title, tool.description, tool.category) == ("Shout", "Shouts", "text")
    assert tool.input_schema["required"] == ["text"], "the real schema wins over the declared one"
    assert tool.wire_name == "outfitter-import_loud-shout"
    assert tool.import_health == Health.HEALTHY
    assert imported.package.env[0]["name"] == "LOUD_KEY"
    assert imported.package.integrity.startswith("sha512-")
    context = CallContext(user=alice, caller=Caller.BROWSER)
    result = invoke(load_spec(tool), {"text": "hi"}, context)
    assert isinstance(result, Succeeded)
    assert result.output == "Shouts: hi"


def test_an_imported_package_waits_for_approval(npm, alice, bob):
    package = bring(npm.publish("waits", "1.0.0", TWO_TOOLS), alice).package

    assert package.review_status == ReviewStatus.CANDIDATE
    assert tools_usable_by(alice).filter(package=package).count() == 2
    assert not tools_usable_by(bob).filter(package=package).exists()
    package_review(package, status=ReviewStatus.APPROVED)
    assert tools_usable_by(bob).filter(package=package).count() == 2


def test_a_second_import_updates_and_never_doubles(npm, alice):
    name = npm.publish("again", "1.0.0", TWO_TOOLS)
    first = bring(name, alice)
    again = bring(name, alice)

    assert statuses(again) == {"shout": "unchanged", "whisper": "unchanged"}
    assert again.package == first.package
    npm.publish("again", "1.1.0", "export const shout = tool('Shouts louder');")
    newer = bring(name, alice)
    assert statuses(newer) == {"shout": "updated", "whisper": "removed"}
    shout = Tool.objects.get(package=newer.package, deleted_at=None)
    assert (shout.version, shout.description) == (2, "Shouts louder")

    npm.publish("again", "1.2.0", TWO_TOOLS)
    back = bring(name, alice)
    assert statuses(back) == {"shout": "updated", "whisper": "added"}
    assert Tool.objects.filter(package=back.package).count() == 2


def test_drift_is_told_and_the_tool_is_bound_to_the_real_export(npm, alice):
    name = npm.publish(
        "drifts",
        "1.0.0",
        "export const recipeHashTool = tool('Hashes'); export const extra = tool('More');",
        tpmjs={
            "tools": [
                {"name": "recipeHash", "description": "d", "aiAgent": {"useCase": "Hash it"}},
                {"name": "forgotten", "description": "Was never written."},
            ]
        },
    )
    imported = bring(name, alice)

    tools = {tool.export_name: tool for tool in Tool.objects.filter(package=imported.package)}
    assert tools.keys() == {"recipeHashTool", "extra", "forgotten"}
    assert tools["recipeHashTool"].ai_agent == {"useCase": "Hash it"}
    assert tools["forgotten"].import_health == Health.BROKEN
    assert "“forgotten” is declared but not exported" in tools["forgotten"].health_error["message"]
    found = [(finding["code"], finding["path"]) for finding in imported.package.findings]
    assert found == [("drift", "recipeHash"), ("drift", "forgotten"), ("undeclared", "extra")]


def test_an_export_whose_schema_cannot_be_used_is_broken_not_fatal(npm, alice):
    code = "export const odd = { ...tool('Odd'), inputSchema: { type: 'array' } };" + TWO_TOOLS
    imported = bring(npm.publish("odd", "1.0.0", code), alice)

    assert statuses(imported)["odd"] == "broken"
    assert statuses(imported)["shout"] == "added"


def test_exports_whose_names_cannot_be_used_are_left_out_and_told(npm, alice):
    code = "const odd = tool('Odd'); export { odd as 'two words', odd as 'nul\\0' };" + TWO_TOOLS
    imported = bring(npm.publish("names", "1.0.0", code), alice)

    assert statuses(imported) == {"shout": "added", "whisper": "added"}
    assert "Its name cannot be used for a tool." in str(imported.package.findings)


def test_a_package_that_the_operator_imported_is_adopted_by_who_refreshes_it(npm, governor):
    name = npm.publish("operators", "1.0.0", TWO_TOOLS)
    assert bring(name).package.added_by is None

    assert bring(name, governor).package.added_by == governor


def test_a_package_without_tools_says_so(npm, alice):
    name = npm.publish("empty", "1.0.0", "export const VERSION = 1;")

    with pytest.raises(NoTools, match="neither declares nor exports a tool"):
        bring(name, alice)
    assert not Package.objects.filter(name=name).exists()


def test_a_package_that_cannot_be_loaded_changes_nothing(npm, alice):
    name = npm.publish("fails", "1.0.0", TWO_TOOLS)
    package = bring(name, alice).package
    npm.publish("fails", "2.0.0", "throw new Error('not today');")

    with pytest.raises(ImportBroken, match="not today"):
        bring(name, alice)
    package.refresh_from_db()
    assert package.version == "1.0.0"
    assert Tool.objects.filter(package=package, deleted_at=None).count() == 2


@pytest.mark.parametrize(
    ("name", "version", "error"),
    [("absent", "", PackageNotFound), ("versions", "9.9.9", VersionNotFound)],
)
def test_what_is_not_in_the_registry_is_named(npm, alice, name, version, error):
    npm.publish("versions", "1.0.0", TWO_TOOLS)

    with pytest.raises(error):
        bring(f"{SCOPE}/{name}", alice, version)


def test_only_who_added_a_package_or_a_reviewer_changes_it(npm, alice, charlie, governor):
    name = npm.publish("owned", "1.0.0", TWO_TOOLS)
    bring(name, alice)

    with pytest.raises(PackageNotYours):
        bring(name, charlie)
    bring(name, governor)
    assert Package.objects.get(name=name).added_by == alice


def test_new_code_of_an_approved_package_is_reviewed_anew(npm, alice, governor):
    name = npm.publish("trusted", "1.0.0", TWO_TOOLS)
    package_review(bring(name, alice).package, status=ReviewStatus.APPROVED)
    assert bring(name, alice).package.review_status == ReviewStatus.APPROVED

    npm.publish("trusted", "1.0.1", TWO_TOOLS + "export const third = tool('Third');")
    assert bring(name, alice).package.review_status == ReviewStatus.CANDIDATE

    package_review(Package.objects.get(name=name), status=ReviewStatus.QUARANTINED)
    npm.publish("trusted", "1.0.2", TWO_TOOLS)
    assert bring(name, governor).package.review_status == ReviewStatus.QUARANTINED


def test_a_health_check_heals_and_breaks_each_tool_by_itself(npm, alice):
    package = bring(npm.publish("checked", "1.0.0", TWO_TOOLS), alice).package
    Tool.objects.filter(package=package, export_name="shout").update(
        import_health=Health.BROKEN, health_error={"message": "old"}
    )
    Tool.objects.filter(package=package, export_name="whisper").update(export_name="gone")

    check = package_check(package)

    assert check.healthy == ("shout",)
    assert list(check.broken) == ["gone"]
    shout, gone = Tool.objects.filter(package=package).order_by("-export_name")
    assert (shout.import_health, shout.health_error) == (Health.HEALTHY, None)
    assert gone.import_health == Health.BROKEN
    assert gone.health_error["code"] == "unknown_export"
