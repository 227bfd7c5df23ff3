"""Python modules and packages, from the request to the catalogue and to a call."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from config.lib.errors import InvalidInput, NotAllowed
from registry.context import CallContext
from registry.execution import invoke
from registry.forms import PythonSettingsForm
from registry.importing.errors import InvalidPackageName, InvalidPackageVersion, PackageNotYours
from registry.importing.jobs import import_again, import_request, import_run
from registry.importing.python import NOT_OFFERED
from registry.importing.variables import package_declare_env, suggested_names
from registry.loading import load_spec
from registry.models import ImportJob, Package, Tool
from registry.models.health import HealthState
from registry.models.invocation import Caller
from registry.models.job import JobStatus
from registry.models.package import ReviewStatus
from registry.models.tool import ToolKind
from registry.python_options import checked_settings
from registry.results import Failed, Succeeded
from registry.services import package_review
from tests.factories import make_package
from tests.registry.sandbox.service import RunningService

pytestmark = pytest.mark.django_db
sandboxed = pytest.mark.sandbox

KEYED = {"tool_config": {"api_key": "${KIT_KEY}", "title": "Daily"}}


def bring(name, *, ecosystem="local", user=None, settings=None, version=""):
    """Import at once and return the job."""
    job = import_request(
        ecosystem=ecosystem,
        name=name,
        version=version,
        settings=settings,
        user=user,
        queued=False,
    )
    import_run(job.pk)
    job.refresh_from_db()
    return job


def run(tool, arguments, user, **values):
    """Call a tool with these variables set."""

    def env(names):
        return {name: values[name] for name in names if name in values}

    context = CallContext(user=user, caller=Caller.CHAT, env=env)
    return invoke(load_spec(tool), arguments, context)


@sandboxed
def test_a_local_module_is_imported_and_its_tools_run(
    sandbox_service: RunningService, governor
) -> None:
    job = bring("kit", user=governor)
    assert job.status == JobStatus.SUCCEEDED, job.error
    package = job.package
    assert (package.ecosystem, package.category, package.added_by) == ("local", "writing", governor)
    assert package.env == [{"name": "KIT_KEY", "description": "The key", "required": False}]
    tool = Tool.objects.get(package=package)
    assert (tool.kind, tool.export_name, tool.title) == (
        ToolKind.PYTHON,
        "write_report",
        "Write report",
    )
    assert tool.required_scopes == ["reports:write"]
    spec = load_spec(tool)
    assert spec.raw_string_args == {"template"}

    result = run(tool, {"template": "x"}, governor, KIT_KEY="s3cret-key", OTHER="no")
    assert isinstance(result, Succeeded), result
    assert result.output["title"] == "untitled"
    assert "s3cret-key" not in json.dumps(result.output)
    assert result.details["artifacts"][0]["name"] == "report.md"


@sandboxed
def test_a_tool_that_does_not_offer_itself_is_told_and_comes_with_its_configuration(
    sandbox_service: RunningService, governor, client_for
) -> None:
    package = bring("kit", user=governor).package
    assert package.findings == [
        {
            "code": NOT_OFFERED,
            "path": "keyed",
            "message": "It does not offer itself with the present configuration.",
        }
    ]
    page = client_for(governor).get(f"/packages/{package.pk}/").content.decode()
    assert "Not offered" in page
    assert "It does not offer itself with the present configuration." in page

    job = bring("kit", user=governor, settings=KEYED)
    assert {entry["export"]: entry["status"] for entry in job.report} == {
        "write_report": "updated",
        "keyed": "added",
    }
    keyed = Tool.objects.get(package=package, export_name="keyed")
    missing = run(keyed, {}, governor)
    assert isinstance(missing, Failed)
    assert missing.error.code == "tool_unavailable"
    assert missing.error.message.endswith("Not set: KIT_KEY.")
    result = run(keyed, {}, governor, KIT_KEY="k-123456")
    assert isinstance(result, Succeeded), result
    assert result.output["same"] is True

    again = bring("kit", user=governor, settings={"class_name": "ReportTool"})
    assert [(e["export"], e["status"]) for e in again.report][-1] == ("keyed", "removed")


@sandboxed
def test_a_required_variable_of_the_configuration_is_asked_for_before_the_call(
    sandbox_service: RunningService, governor
) -> None:
    settings = {"tool_config": {"api_key": "${WEATHER_API_KEY}"}}
    package = bring("weather_api", user=governor, settings=settings).package
    assert package.env == [{"name": "WEATHER_API_KEY", "description": "", "required": True}]
    tool = Tool.objects.get(package=package)
    result = run(tool, {"location": "Bern"}, governor)
    assert isinstance(result, Failed)
    assert result.error.code == "missing_credential"
    assert result.error.extra["missing"] == ["WEATHER_API_KEY"]


@sandboxed
def test_a_package_of_the_index_is_imported_by_the_command(
    sandbox_service: RunningService,
) -> None:
    out = StringIO()
    call_command("import_package", "pypi", "Humanize>=4,<5", "--approve", stdout=out)
    package = Package.objects.get(ecosystem="pypi", name="humanize")
    assert package.review_status == ReviewStatus.APPROVED
    assert "added     intcomma" in out.getvalue()
    assert package.manifest["requires"] is not None
    assert Tool.objects.filter(package=package, export_name="naturalsize").exists()


@sandboxed
def test_a_module_without_tools_is_told_so(
    sandbox_service: RunningService, governor, python_tools: Path
) -> None:
    (python_tools / "bare.py").write_text("def _private(): ...\n")
    job = bring("bare", user=governor)
    assert job.error["code"] == "no_tools"
    assert "DynamicTool class" in job.error["hint"]


@sandboxed
def test_a_job_that_failed_is_tried_again_with_its_settings(
    sandbox_service: RunningService, governor, client_for
) -> None:
    job = bring("kit", user=governor, settings={"class_name": "Nothing"})
    assert job.error["code"] == "import_broken"
    again = import_again(job, user=governor)
    assert again.settings == {"class_name": "Nothing"}
    answer = client_for(governor).post(f"/jobs/{job.pk}/again/")
    assert answer.status_code == 302


def test_settings_that_cannot_be_used_are_named() -> None:
    for settings, path in (
        ({"module": "a/b"}, "module"),
        ({"tool_config": []}, "tool_config"),
        ({"env": [{"name": "lower"}]}, "env.0.name"),
        ({"unknown": 1}, "unknown"),
    ):
        with pytest.raises(InvalidInput) as caught:
            import_request(ecosystem="pypi", name="humanize", settings=settings, user=None)
        assert caught.value.extra["problems"][0]["path"] == path
    with pytest.raises(InvalidInput, match="not the name of a variable"):
        import_request(
            ecosystem="pypi",
            name="humanize",
            settings={"tool_config": {"key": "${lower}"}},
            user=None,
        )


def test_names_and_versions_of_python_packages_are_checked() -> None:
    for name in ("-r", "a b", "humanize @ https://x"):
        with pytest.raises(InvalidPackageName):
            import_request(ecosystem="pypi", name=name, user=None)
    with pytest.raises(InvalidPackageVersion, match="not a version of a Python package"):
        import_request(ecosystem="pypi", name="humanize", version="newest!", user=None)
    with pytest.raises(InvalidPackageVersion, match="has no versions"):
        import_request(ecosystem="local", name="kit", version="1.0", user=None)
    with pytest.raises(InvalidPackageName, match="not the name of a module"):
        import_request(ecosystem="local", name="../kit", user=None)


def test_one_package_has_one_spelling(alice) -> None:
    job = import_request(ecosystem="pypi", name="Foo_Bar[b,a]", user=alice, queued=False)
    assert job.name == "foo-bar[a,b]"


def test_a_local_module_is_imported_only_by_those_who_review_packages(alice) -> None:
    with pytest.raises(NotAllowed, match="the operator's"):
        import_request(ecosystem="local", name="kit", user=alice)


def test_the_settings_of_somebody_elses_package_are_not_changed(alice, bob, client_for) -> None:
    package = make_package(ecosystem="pypi", name="theirs", added_by=alice)
    package_review(package, status=ReviewStatus.APPROVED)
    with pytest.raises(PackageNotYours):
        import_request(ecosystem="pypi", name="theirs", settings={"module": "x"}, user=bob)
    assert client_for(bob).get(f"/packages/{package.pk}/settings/").status_code == 403


def test_without_new_settings_a_package_keeps_its_own(alice) -> None:
    make_package(ecosystem="pypi", name="mine", added_by=alice, settings={"module": "deep.tools"})
    job = import_request(ecosystem="pypi", name="mine", user=alice, queued=False)
    assert job.settings == {"module": "deep.tools"}


def test_the_form_asks_for_a_python_package_with_its_settings(alice, client_for) -> None:
    form = {
        "ecosystem": "pypi",
        "name": "humanize",
        "version": "",
        "module": "humanize.number",
        "tool_config": '{"key": "${API_KEY}"}',
        "env": "API_KEY\nREGION optional",
        "raw_string_args": "a, b",
    }
    answer = client_for(alice).post("/packages/import/", form)
    assert answer.status_code == 302, answer.content.decode()
    settings = alice_job(alice).settings
    assert settings["module"] == "humanize.number"
    assert settings["raw_string_args"] == ["a", "b"]
    assert [(item["name"], item["required"]) for item in settings["env"]] == [
        ("API_KEY", True),
        ("REGION", False),
    ]


def test_the_form_says_what_is_wrong_beside_the_field(alice, client_for) -> None:
    form = {"ecosystem": "pypi", "name": "humanize", "tool_config": "{", "env": "lower"}
    answer = client_for(alice).post("/packages/import/", form)
    assert answer.status_code == 422
    assert "This is not JSON" in answer.content.decode()
    answer = client_for(alice).post("/packages/import/", {**form, "tool_config": ""})
    assert answer.status_code == 422
    assert "should match pattern" in answer.content.decode()


def test_only_reviewers_are_offered_local_modules(alice, governor, client_for) -> None:
    assert "Local module" not in client_for(alice).get("/packages/").content.decode()
    assert "Local module" in client_for(governor).get("/packages/").content.decode()
    form = {"ecosystem": "local", "name": "kit"}
    assert client_for(alice).post("/packages/import/", form).status_code == 422


def test_the_settings_page_shows_what_is_set_and_asks_for_a_new_reading(alice, client_for) -> None:
    package = make_package(
        ecosystem="pypi",
        name="mine",
        version="1.0",
        added_by=alice,
        settings={"module": "deep.tools", "tool_config": {"timeout": 30}},
    )
    page = client_for(alice).get(f"/packages/{package.pk}/settings/").content.decode()
    assert "deep.tools" in page
    assert "&quot;timeout&quot;: 30" in page
    answer = client_for(alice).post(f"/packages/{package.pk}/settings/", {"module": "other"})
    assert answer.status_code == 302
    job = alice_job(alice)
    assert (job.name, job.version, job.settings) == ("mine", "1.0", {"module": "other"})


def test_rest_takes_the_settings_of_a_python_package(alice, client_for) -> None:
    body = {"ecosystem": "pypi", "name": "humanize", "settings": {"module": "humanize.time"}}
    answer = client_for(alice).post("/api/v1/packages/", body, content_type="application/json")
    assert answer.status_code == 202, answer.content
    assert alice_job(alice).settings == {"module": "humanize.time"}
    body["settings"] = {"module": 3}
    answer = client_for(alice).post("/api/v1/packages/", body, content_type="application/json")
    assert answer.status_code == 400
    assert answer.json()["extra"]["problems"][0]["path"] == "module"


def test_the_command_refuses_settings_that_are_no_object() -> None:
    for text, words in (("{", "is not JSON"), ("[]", "must be a JSON object")):
        with pytest.raises(CommandError, match=words):
            call_command("import_package", "pypi", "humanize", "--package-settings", text)


def alice_job(alice):
    """Return the import that was asked for."""
    return ImportJob.objects.filter(requested_by=alice).latest("created_at")


@sandboxed
def test_a_key_that_a_module_looks_for_is_suggested_asked_for_and_let_in(
    sandbox_service: RunningService, governor
) -> None:
    package = bring("wanting", user=governor).package
    suggested = ["AT_IMPORT_TOKEN", "DEMO_API_KEY", "OTHER_SECRET"]
    assert suggested_names(package) == suggested
    tool = Tool.objects.get(package=package, export_name="politely")

    result = run(tool, {}, governor)
    assert isinstance(result, Failed)
    assert result.error.code == "missing_credential"
    assert result.error.extra["missing"] == ["DEMO_API_KEY"]
    assert "Set the key first." in result.error.message
    tool.refresh_from_db()
    assert tool.health_state == HealthState.NEEDS_KEY

    package_declare_env(package, [{"name": "DEMO_API_KEY"}], user=governor)
    tool.refresh_from_db()
    result = run(tool, {}, governor, DEMO_API_KEY="k-1234567")
    assert isinstance(result, Succeeded), result
    again = bring("wanting", user=governor).package
    assert [item["name"] for item in again.env] == ["DEMO_API_KEY"]
    assert suggested_names(again) == ["AT_IMPORT_TOKEN", "OTHER_SECRET"]


@pytest.mark.parametrize(
    "config",
    [
        {"api_key": "sk-live-1"},
        {"servers": [{"Password": "hunter2"}]},
        {"auth_token": "${TOKEN:-sk-live-1}"},
    ],
)
def test_a_secret_that_is_written_out_in_the_settings_is_refused(config):
    with pytest.raises(InvalidInput, match="written out"):
        checked_settings({"tool_config": config})


def test_a_secret_that_is_named_by_its_variable_is_not():
    config = {"api_key": "Bearer ${KEY}", "max_tokens": "5", "token": "${TOKEN:-}", "secret": {}}
    assert checked_settings({"tool_config": config})["tool_config"] == config


SEVERAL = {
    "tool_config": {"unit": "metre"},
    "raw_string_args": ["advanced"],
    "required_scopes": ["maths:run"],
    "tools": [
        {"class_name": "CalculatorTool", "tool_config": {"enable_advanced_features": True}},
        {
            "class_name": "CalculatorTool",
            "tool_config": {"name": "keyed", "unit": "foot", "key": "${MATH_KEY:-none}"},
            "required_scopes": ["maths:keyed"],
        },
        {"class_name": "StatisticsTool"},
    ],
}


@sandboxed
def test_classes_of_one_module_are_configured_one_by_one(
    sandbox_service: RunningService, governor
) -> None:
    package = bring("math_tools", user=governor, settings=SEVERAL).package
    tools = {tool.export_name: tool for tool in package.tools.filter(deleted_at=None)}
    assert set(tools) == {"calculate", "keyed"}
    assert [item["path"] for item in package.findings] == ["compute_statistics"]
    assert package.env == [{"name": "MATH_KEY", "description": "", "required": False}]
    assert set(tools["calculate"].input_schema["properties"]) == {"text", "advanced"}
    assert set(tools["keyed"].input_schema["properties"]) == {"text"}
    assert tools["calculate"].required_scopes == ["maths:run"]
    assert tools["keyed"].required_scopes == ["maths:run", "maths:keyed"]

    told = run(tools["keyed"], {"text": "a"}, governor, MATH_KEY="k-123456")
    assert told.output["unit"] == "foot"
    assert told.output["key"] != "none"
    told = run(tools["calculate"], {"text": "«math:1+2»", "advanced": "«math:1+2»"}, governor)
    assert told.output["unit"] == "metre"
    assert (told.output["text"], told.output["advanced"]) == ("3", "«math:1+2»")


@sandboxed
def test_what_is_switched_on_by_the_settings_comes_back_under_its_name(
    sandbox_service: RunningService, governor
) -> None:
    def brought(on):
        tools = [{"class_name": "StatisticsTool", "tool_config": {"on": on}}]
        job = bring("math_tools", user=governor, settings={"tools": tools})
        return {entry["export"]: entry["status"] for entry in job.report}

    assert brought(True) == {"compute_statistics": "added"}
    first = Tool.objects.get(export_name="compute_statistics")
    assert brought(False) == {"compute_statistics": "removed"}
    assert brought(True) == {"compute_statistics": "added"}
    again = Tool.objects.get(export_name="compute_statistics", deleted_at=None)
    assert (again.pk, again.wire_name) == (first.pk, first.wire_name)


@sandboxed
def test_a_tool_is_refused_to_a_caller_without_the_scopes_that_it_requires(
    sandbox_service: RunningService, governor
) -> None:
    package = bring("math_tools", user=governor, settings=SEVERAL).package
    tool = package.tools.get(export_name="keyed")
    for scopes, allowed in (({"maths:run"}, False), ({"maths:run", "maths:keyed"}, True)):
        context = CallContext(user=governor, caller=Caller.REST, scopes=frozenset(scopes))
        result = invoke(load_spec(tool), {}, context)
        assert isinstance(result, Succeeded) is allowed, result
    assert isinstance(invoke(load_spec(tool), {}, context.derive(scopes=frozenset())), Failed)


def test_the_form_of_settings_keeps_all_of_them(governor, client_for) -> None:
    package = make_package(ecosystem="local", name="math_tools", settings=SEVERAL)
    shown = PythonSettingsForm.initial_of(package)
    form = PythonSettingsForm(shown)
    assert form.is_valid(), form.errors
    assert checked_settings(form.settings) == SEVERAL
    page = client_for(governor).get(f"/packages/{package.pk}/settings/").content.decode()
    assert "Several tools" in page
    refused = client_for(governor).post(
        f"/packages/{package.pk}/settings/", {"tools": '[{"klass": "A"}]'}
    )
    assert refused.status_code == 422
    assert "tools.0.klass" in refused.content.decode() or "Extra inputs" in refused.content.decode()
