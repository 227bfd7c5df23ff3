"""Real packages of the npm registry, from name to answer, and those that cannot be had."""

import threading
from pathlib import Path

import pytest

from registry import errors
from registry.sandbox.client import Artifact, LocalSandbox
from tests.registry.sandbox.npm_registry import SCOPE, Handler
from tests.registry.sandbox.service import RunningService, running_service

pytestmark = pytest.mark.sandbox

HTML = "<h1>Hi</h1><p>One <strong>two</strong></p>"


def test_a_real_package_is_built_described_and_called(sandbox: LocalSandbox) -> None:
    built = sandbox.build(ecosystem="npm", name="@tpmjs/tools-html-to-markdown", version="0.1.0")
    assert built.version == "0.1.0"
    assert built.integrity.startswith("sha512-")
    assert built.manifest["tpmjs"]["tools"][0]["name"] == "htmlToMarkdownTool"
    assert built.size_bytes > 1_000_000
    described = sandbox.describe(artifact=built.artifact)
    (tool,) = described.tools
    assert (tool.export, tool.aliases) == ("htmlToMarkdownTool", ("default",))
    assert tool.input_schema["required"] == ["html"]
    assert "$schema" not in tool.input_schema
    answer = sandbox.call(
        artifact=built.artifact, export=tool.export, arguments={"html": HTML}, env={}
    )
    assert answer.output["markdown"] == "# Hi\n\nOne **two**"


def test_a_package_whose_manifest_and_exports_differ_is_described_as_it_is(
    sandbox: LocalSandbox,
) -> None:
    built = sandbox.build(ecosystem="npm", name="@tpmjs/tools-recipe-hash", version="0.2.0")
    declared = [
        tool.get("name", tool.get("exportName")) for tool in built.manifest["tpmjs"]["tools"]
    ]
    exports = [tool.export for tool in sandbox.describe(artifact=built.artifact).tools]
    assert declared == ["recipeHash"]
    assert exports == ["recipeHashTool"]


def test_a_real_package_that_needs_a_host_is_denied_it_by_name(sandbox: LocalSandbox) -> None:
    built = sandbox.build(ecosystem="npm", name="@tpmjs/registry-search", version="0.1.5")
    (tool,) = sandbox.describe(artifact=built.artifact).tools
    with pytest.raises(errors.NetworkDenied, match=r"tried to reach tpmjs\.com:443") as caught:
        sandbox.call(artifact=built.artifact, export=tool.export, arguments={"query": "x"}, env={})
    assert caught.value.extra["hosts"] == ["tpmjs.com:443"]


def test_the_newest_version_is_taken_when_none_is_named(sandbox: LocalSandbox) -> None:
    newest = sandbox.build(ecosystem="npm", name=f"{SCOPE}/shapes")
    in_range = sandbox.build(ecosystem="npm", name=f"{SCOPE}/shapes", version="^1.0")
    assert newest == in_range
    assert newest.version == "1.0.0"


@pytest.mark.parametrize(
    ("name", "version", "error", "words"),
    [
        ("@tpmjs/no-such-package-here", None, errors.PackageNotFound, "no npm package called"),
        (f"{SCOPE}/absent", None, errors.PackageNotFound, "no npm package called"),
        ("@tpmjs/tools-recipe-hash", "9.9.9", errors.VersionNotFound, "has no version 9.9.9"),
        (f"{SCOPE}/shapes", "2.0.0", errors.VersionNotFound, "has no version 2.0.0"),
        ("../etc", None, errors.InvalidPackage, "not the name of an npm package"),
        ("a b", None, errors.InvalidPackage, "not the name of an npm package"),
        ("shapes", "file:/etc", errors.InvalidPackage, "not a version"),
        ("shapes", "npm:other@1", errors.InvalidPackage, "not a version"),
        ("shapes", "git+ssh://x/y", errors.InvalidPackage, "not a version"),
        (f"{SCOPE}/tampered", None, errors.IntegrityMismatch, "does not match its integrity"),
    ],
)
def test_a_package_that_cannot_be_had_says_why_and_what_to_do(
    sandbox: LocalSandbox,
    name: str,
    version: str | None,
    error: type[errors.ToolError],
    words: str,
) -> None:
    with pytest.raises(error) as caught:
        sandbox.build(ecosystem="npm", name=name, version=version)
    assert type(caught.value) is error
    assert words in caught.value.message
    assert caught.value.hint


def test_another_ecosystem_is_refused_in_words(sandbox: LocalSandbox) -> None:
    with pytest.raises(errors.InvalidPackage, match="cannot be built"):
        sandbox.build(ecosystem="gem", name="rails")


def test_a_registry_that_does_not_answer_is_named_as_such() -> None:
    settings = {"NPM_CONFIG_REGISTRY": "http://127.0.0.1:9/", "NPM_CONFIG_USERCONFIG": "/none"}
    with (
        running_service(settings) as service,
        pytest.raises(errors.RegistryUnreachable, match="did not answer") as caught,
    ):
        service.client.build(ecosystem="npm", name="left-pad")
    assert "NPM_CONFIG_REGISTRY" in caught.value.hint


def test_a_package_that_throws_at_import_is_broken_not_missing(sandbox: LocalSandbox) -> None:
    broken = sandbox.build(ecosystem="npm", name=f"{SCOPE}/broken")
    with pytest.raises(errors.ImportBroken, match="this package cannot be imported"):
        sandbox.describe(artifact=broken.artifact)
    with pytest.raises(errors.ImportBroken, match="this package cannot be imported"):
        sandbox.call(artifact=broken.artifact, export="x", arguments={}, env={})


def test_lifecycle_scripts_do_not_run(sandbox: LocalSandbox) -> None:
    scripted = sandbox.build(ecosystem="npm", name=f"{SCOPE}/scripted")
    answer = sandbox.call(artifact=scripted.artifact, export="files", arguments={}, env={})
    assert answer.output == ["index.js", "package.json"]


def test_one_package_asked_for_by_many_at_once_is_fetched_once(
    npm_settings: dict[str, str],
) -> None:
    built: list[Artifact] = []
    with running_service(npm_settings) as service:
        Handler.requests.clear()

        def build() -> None:
            built.append(service.client.build(ecosystem="npm", name=f"{SCOPE}/shapes"))

        threads = [threading.Thread(target=build) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(built) == 5
    assert len({artifact.artifact for artifact in built}) == 1
    assert Handler.requests.count("/shapes.tgz") == 1


def test_an_artifact_is_read_only_and_leaves_no_scratch_behind(
    sandbox_service: RunningService, shapes: Artifact
) -> None:
    store = sandbox_service.folder / "store"
    folder = store / "artifacts" / shapes.artifact
    for path in (folder, *folder.rglob("*")):
        assert path.is_symlink() or not path.stat().st_mode & 0o222, path
    assert [path.name for path in (store / "builds").iterdir() if path.name != "uploads"] == []


def test_the_operators_npmrc_is_not_in_the_artifact(
    sandbox_service: RunningService, shapes: Artifact
) -> None:
    folder = sandbox_service.folder / "store" / "artifacts" / shapes.artifact
    assert {path.name for path in (folder / "pkg").iterdir()} == {
        *("package.json", "entry.mjs", "deno.lock", "node_modules")
    }


@pytest.mark.parametrize("key", ["0" * 64, "../../etc", "", "x"])
def test_an_artifact_that_is_not_in_the_store_is_refused(sandbox: LocalSandbox, key: str) -> None:
    with pytest.raises(errors.ToolError, match="artifact"):
        sandbox.describe(artifact=key)


def test_the_service_runs_as_nobody_special(sandbox: LocalSandbox) -> None:
    assert sandbox.status()["uid"] != 0
    assert Path(sandbox.status()["store"]).stat().st_mode & 0o022 == 0
