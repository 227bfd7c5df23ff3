"""Schemas of the real Zod, and the keys that code reads: found in its files, and as it runs."""

import pytest

from registry.errors import ToolFailed, ToolTimeout
from registry.sandbox.client import Artifact, Description, LocalSandbox
from tests.registry.sandbox.npm_registry import SCOPE
from tests.registry.sandbox.service import RunningService

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def zods(sandbox_service: RunningService) -> Artifact:
    """The built package."""
    return sandbox_service.client.build(ecosystem="npm", name=f"{SCOPE}/zods")


@pytest.fixture(scope="module")
def description(sandbox_service: RunningService, zods: Artifact) -> Description:
    """What the service says of it."""
    return sandbox_service.client.describe(artifact=zods.artifact)


@pytest.mark.parametrize("export", ["third", "fourth"])
def test_a_real_zod_schema_becomes_json_schema(description: Description, export: str) -> None:
    (schema,) = (tool.input_schema for tool in description.tools if tool.export == export)

    assert schema["type"] == "object"
    assert schema["required"] == ["name", "tags"]
    properties = schema["properties"]
    assert properties["name"] == {"type": "string", "minLength": 2, "description": "Who"}
    assert properties["age"]["type"] == "integer"
    assert properties["mode"] == {"type": "string", "enum": ["a", "b"], "default": "a"}
    assert properties["tags"] == {"type": "array", "items": {"type": "string"}, "maxItems": 3}


@pytest.mark.parametrize("export", ["third", "fourth"])
def test_a_tool_with_a_zod_schema_is_called(
    sandbox: LocalSandbox, zods: Artifact, export: str
) -> None:
    answer = sandbox.call(
        artifact=zods.artifact, export=export, arguments={"name": "Ada", "tags": []}, env={}
    )
    assert answer.output["parsed"] == {"name": "Ada", "mode": "a", "tags": []}


def test_a_factory_of_a_zod_tool_is_a_tool(description: Description) -> None:
    assert "made()" in [tool.export for tool in description.tools]


def test_the_keys_that_its_own_files_read_are_told(description: Description) -> None:
    keys = ["DENO_SECRET", "DOTTED_API_KEY", "GIVEN_API_KEY", "QUOTED_TOKEN"]
    assert list(description.env) == keys, "not those of zod, and no other variables"


def test_the_keys_that_a_failed_call_looked_for_in_vain_are_told(
    sandbox: LocalSandbox, zods: Artifact
) -> None:
    with pytest.raises(ToolFailed, match="Found 0 keys") as failed:
        sandbox.call(artifact=zods.artifact, export="reads", arguments={}, env={})

    keys = ["DENO_SECRET", "DOTTED_API_KEY", "QUOTED_TOKEN"]
    assert sorted(failed.value.extra["missing_env"]) == keys


def test_a_key_that_was_given_is_not_told(sandbox: LocalSandbox, zods: Artifact) -> None:
    env = {"GIVEN_API_KEY": "a-value-of-its-own"}
    with pytest.raises(ToolFailed, match="and yet it failed") as failed:
        sandbox.call(artifact=zods.artifact, export="given", arguments={}, env=env)

    assert "missing_env" not in failed.value.extra


def test_a_timeout_of_a_call_names_its_phase(sandbox: LocalSandbox, hostile: Artifact) -> None:
    with pytest.raises(ToolTimeout) as late:
        sandbox.call(
            artifact=hostile.artifact, export="hangs", arguments={}, env={}, timeout_seconds=0.5
        )
    assert late.value.as_dict()["extra"]["phase"] == "execute"
