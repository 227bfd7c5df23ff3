"""Real packages of the npm registry, from their import to a call."""

import pytest

from registry.context import CallContext
from registry.errors import RegistryUnreachable
from registry.execution import invoke
from registry.importing.npm import npm_bind, npm_import
from registry.importing.variables import package_declare_env, suggested_names
from registry.loading import load_spec
from registry.models import Tool
from registry.models.health import HealthState
from registry.models.invocation import Caller

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.django_db,
    pytest.mark.usefixtures("sandbox_service"),
]


def bring(name, version, user):
    try:
        return npm_import(name=name, version=version, user=user, stage=str).package
    except RegistryUnreachable as error:
        pytest.skip(str(error))


def call(tool, arguments, user, **env):
    context = CallContext(
        user=user, caller=Caller.BROWSER, env=lambda names: {n: env[n] for n in names if n in env}
    )
    tool.refresh_from_db()
    return invoke(load_spec(tool), arguments, context)


def test_html_to_markdown_converts(alice):
    package = bring("@tpmjs/tools-html-to-markdown", "0.1.0", alice)
    tool = Tool.objects.get(package=package)

    result = call(tool, {"html": "<h1>Hi</h1><p>One <strong>two</strong></p>"}, alice)

    assert tool.export_name == "htmlToMarkdownTool"
    assert "# Hi" in str(result.output)
    assert "**two**" in str(result.output)


def test_recipe_hash_is_shown_to_have_drifted_and_is_mended_in_one_step(alice):
    package = bring("@tpmjs/tools-recipe-hash", "0.2.0", alice)
    tool = Tool.objects.get(package=package)
    assert tool.export_name == "recipeHash"
    assert tool.health_error["code"] == "export_drift"
    assert tool.health_error["extra"]["candidates"] == ["recipeHashTool"]

    npm_bind(package, {"recipeHash": "recipeHashTool"}, user=alice)

    tool.refresh_from_db()
    assert tool.health_state == HealthState.HEALTHY
    result = call(tool, {"recipe": {"steps": ["a", "b"]}}, alice)
    assert len(result.output["hash"]) == 64


@pytest.mark.parametrize(
    ("name", "version", "export", "arguments", "key"),
    [
        (
            "firecrawl-aisdk",
            "0.12.0",
            "scrape",
            {"url": "https://example.org"},
            "FIRECRAWL_API_KEY",
        ),
        ("@exalabs/ai-sdk", "2.1.0", "webSearch()", {"query": "tools"}, "EXA_API_KEY"),
    ],
)
def test_the_key_that_a_package_does_not_declare_is_named(
    alice, name, version, export, arguments, key
):
    package = bring(name, version, alice)
    tool = Tool.objects.get(package=package, export_name=export)
    assert suggested_names(package) == [key]

    undeclared = call(tool, arguments, alice)
    package_declare_env(package, [{"name": key}], user=alice)
    unset = call(tool, arguments, alice)
    offline = call(tool, arguments, alice, **{key: "no-such-key-1234"})

    assert undeclared.error.code == unset.error.code == "missing_credential"
    assert undeclared.error.extra["undeclared"] == [key]
    assert unset.error.extra["missing"] == [key]
    assert offline.error.code not in ("missing_credential", "tool_crashed")
    assert "no-such-key-1234" not in str(offline.error.as_dict())
