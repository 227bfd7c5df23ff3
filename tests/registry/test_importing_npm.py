"""Packages from a registry of the test's own, through the real sandbox, to rows."""

import pytest

from registry.context import CallContext
from registry.errors import ImportBroken, PackageNotFound, VersionNotFound
from registry.execution import invoke
from registry.importing.errors import CannotBind, NoTools, PackageNotYours
from registry.importing.health_check import package_check
from registry.importing.npm import npm_bind, npm_import
from registry.importing.variables import package_declare_env, suggested_names
from registry.loading import load_spec
from registry.models import Package, Tool
from registry.models.invocation import Caller
from registry.models.package import ReviewStatus
from registry.models.tool import Health, HealthState
from registry.results import Succeeded
from registry.review.deciding import proposal_approve
from registry.review.selectors import open_proposal_of
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


def drifting(npm, short):
    """Publish a package that declares `recipeHash` and exports `recipeHashTool`."""
    return npm.publish(
        short,
        "1.0.0",
        "export const recipeHashTool = tool('Hashes'); export const extra = tool('More');",
        tpmjs={
            "tools": [
                {"name": "recipeHash", "description": "d", "aiAgent": {"useCase": "Hash it"}},
                {"name": "forgotten", "description": "Was never written."},
            ]
        },
    )


def test_drift_is_shown_and_nothing_is_bound_unseen(npm, alice):
    package = bring(drifting(npm, "drifts"), alice).package

    tools = {tool.export_name: tool for tool in Tool.objects.filter(package=package)}
    assert tools.keys() == {"recipeHash", "extra", "forgotten"}
    drifted = tools["recipeHash"]
    assert drifted.health_state == HealthState.IMPORT_BROKEN
    assert drifted.health_error["code"] == "export_drift"
    assert "exported as “recipeHashTool”" in drifted.health_error["message"]
    assert "Use “recipeHashTool”" in drifted.health_error["hint"]
    assert drifted.health_error["extra"]["candidates"] == ["recipeHashTool"]
    assert tools["forgotten"].import_health == Health.BROKEN
    assert "“forgotten” is declared but not exported" in tools["forgotten"].health_error["message"]
    found = [(finding["code"], finding["path"]) for finding in package.findings]
    assert found == [("drift", "recipeHash"), ("drift", "forgotten"), ("undeclared", "extra")]


def test_a_call_and_a_check_of_a_drifted_tool_keep_the_reason(npm, alice):
    package = bring(drifting(npm, "drifts-on"), alice).package
    tool = Tool.objects.get(package=package, export_name="recipeHash")

    result = invoke(load_spec(tool), {}, CallContext(user=alice, caller=Caller.BROWSER))
    package_check(package)

    tool.refresh_from_db()
    assert result.error.code == "unknown_export"
    assert tool.health_error["code"] == "export_drift"


def test_a_drifted_tool_is_bound_in_one_step_and_stays_bound(npm, alice):
    name = drifting(npm, "mended")
    package = bring(name, alice).package
    tool = Tool.objects.get(package=package, export_name="recipeHash")

    report = npm_bind(package, {"recipeHash": "recipeHashTool"}, user=alice).report

    bound = Tool.objects.get(pk=tool.pk)
    assert (bound.export_name, bound.wire_name) == ("recipeHashTool", tool.wire_name)
    assert bound.health_state == HealthState.HEALTHY
    assert bound.health_error is None
    assert bound.ai_agent == {"useCase": "Hash it"}
    assert bound.version == tool.version + 1
    assert bound.versions.latest("number").reason == (
        "Bound: “recipeHash” is the export “recipeHashTool”"
    )
    assert {entry["export"]: entry["status"] for entry in report}["recipeHashTool"] == "updated"
    context = CallContext(user=alice, caller=Caller.BROWSER)
    assert invoke(load_spec(bound), {"text": "x"}, context).output == "Hashes: x"
    assert statuses(bring(name, alice))["recipeHashTool"] == "unchanged"


@pytest.mark.parametrize(
    ("declared", "export", "said"),
    [
        ("nothing", "recipeHashTool", "declares no tool “nothing”"),
        ("recipeHash", "absent", "has no export “absent”"),
        ("extra", "recipeHashTool", "declares no tool “extra”"),
    ],
)
def test_only_what_drifted_is_bound_and_only_to_what_is_exported(
    npm, alice, declared, export, said
):
    package = bring(drifting(npm, "odd-binding"), alice).package

    with pytest.raises(CannotBind, match=said):
        npm_bind(package, {declared: export}, user=alice)


def test_only_who_added_a_package_or_a_reviewer_binds_its_tools(npm, alice, charlie, governor):
    package = bring(drifting(npm, "not-yours"), alice).package

    with pytest.raises(PackageNotYours):
        npm_bind(package, {"recipeHash": "recipeHashTool"}, user=charlie)
    npm_bind(package, {"recipeHash": "recipeHashTool"}, user=governor)


def test_a_binding_of_an_approved_package_is_reviewed_anew(npm, alice, governor):
    package = bring(drifting(npm, "bound-anew"), alice).package
    package_review(package, status=ReviewStatus.APPROVED)

    bound = npm_bind(package, {"recipeHash": "recipeHashTool"}, user=alice)

    package.refresh_from_db()
    assert (package.review_status, package.settings) == (ReviewStatus.APPROVED, {})
    assert statuses(bound)["recipeHashTool"] == "proposed"
    assert statuses(bring(package.name, alice))["recipeHashTool"] == "proposed", "it is kept"
    proposal_approve(open_proposal_of(package), by=governor, reason="It is the same tool.")
    package.refresh_from_db()
    assert package.settings["bindings"] == {"recipeHash": "recipeHashTool"}
    assert Tool.objects.get(package=package, export_name="recipeHashTool").deleted_at is None
    assert statuses(bring(package.name, alice))["recipeHashTool"] == "unchanged"


READS_KEY = """
export const shout = { ...tool('Shouts'), execute: async () => {
  if (!process.env.SHOUT_API_KEY) throw new Error('no key');
  return process.env.SHOUT_API_KEY.length;
} };
"""


def test_a_key_that_is_read_but_not_declared_is_named_suggested_and_let_in(npm, alice):
    name = npm.publish("keyed", "1.0.0", READS_KEY)
    package = bring(name, alice).package
    tool = Tool.objects.get(package=package)
    assert suggested_names(package) == ["SHOUT_API_KEY"], "found in its files"
    context = CallContext(
        user=alice, caller=Caller.BROWSER, env=lambda names: dict.fromkeys(names, "secret")
    )

    refused = invoke(load_spec(tool), {"text": "x"}, context).error

    assert refused.code == "missing_credential"
    assert refused.extra["missing"] == refused.extra["undeclared"] == ["SHOUT_API_KEY"]
    assert "SHOUT_API_KEY" in refused.message
    tool.refresh_from_db()
    assert tool.health_state == HealthState.NEEDS_KEY
    assert suggested_names(package) == ["SHOUT_API_KEY"]

    package_declare_env(package, [{"name": "SHOUT_API_KEY"}], user=alice)

    tool.refresh_from_db()
    package.refresh_from_db()
    assert tool.health_state == HealthState.HEALTHY
    assert tool.versions.latest("number").reason == "May read SHOUT_API_KEY"
    assert suggested_names(package) == []
    assert invoke(load_spec(tool), {"text": "x"}, context).output == 6
    bring(name, alice)
    package.refresh_from_db()
    assert [item["name"] for item in package.env] == ["SHOUT_API_KEY"]


def test_an_optional_key_that_is_not_set_is_only_told(npm, alice):
    package = bring(npm.publish("optional", "1.0.0", READS_KEY), alice).package
    package_declare_env(package, [{"name": "SHOUT_API_KEY", "required": False}], user=alice)
    tool = Tool.objects.get(package=package)

    error = invoke(
        load_spec(tool), {"text": "x"}, CallContext(user=alice, caller=Caller.BROWSER)
    ).error

    assert (error.code, error.message) == ("tool_failed", "no key")
    assert "SHOUT_API_KEY is optional and not set." in error.hint


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


def test_new_code_of_an_approved_package_waits_beside_the_old(npm, alice, charlie, governor):
    name = npm.publish("trusted", "1.0.0", TWO_TOOLS)
    package_review(bring(name, alice).package, status=ReviewStatus.APPROVED)
    assert bring(name, alice).package.review_status == ReviewStatus.APPROVED

    npm.publish("trusted", "1.0.1", TWO_TOOLS + "export const third = tool('Third');")
    again = bring(name, alice)
    assert set(statuses(again).values()) == {"proposed"}
    assert (again.package.version, again.package.review_status) == ("1.0.0", ReviewStatus.APPROVED)
    shout = Tool.objects.get(package=again.package, export_name="shout")
    everybody = CallContext(user=charlie, caller=Caller.BROWSER)
    assert invoke(load_spec(shout), {"text": "x"}, everybody).output == "Shouts: x"
    refused = invoke(load_spec(shout, 2), {"text": "x"}, everybody).error
    assert refused.code == "permission_refused"
    assert "was never approved" in refused.message
    for person in (alice, governor):
        trial = CallContext(user=person, caller=Caller.BROWSER)
        assert invoke(load_spec(shout, 2), {"text": "x"}, trial).output == "Shouts: x"

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
