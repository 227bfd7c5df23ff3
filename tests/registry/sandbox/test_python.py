"""Python packages and modules in the real sandbox."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from registry.errors import (
    CallCancelled,
    ImportBroken,
    InvalidPackage,
    OutOfMemory,
    OutputRejected,
    PackageNotFound,
    ToolError,
    ToolFailed,
    ToolInputRejected,
    ToolTimeout,
    ToolUnavailable,
    UnknownExport,
)
from registry.sandbox.contract import Artifact
from tests.registry.sandbox.service import RunningService, becomes_true

pytestmark = pytest.mark.sandbox


@pytest.fixture
def built(sandbox_service: RunningService) -> Any:
    """Build a local module and return its artifact."""

    def build(name: str) -> Artifact:
        return sandbox_service.client.build(ecosystem="local", name=name)

    return build


@pytest.fixture
def call(sandbox_service: RunningService, built: Any) -> Any:
    """Call a tool of a local module and return its output."""

    def run(name: str, export: str, arguments: dict[str, Any] | None = None, **more: Any) -> Any:
        artifact = built(name).artifact
        return sandbox_service.client.call(
            artifact=artifact, export=export, arguments=arguments or {}, **{"env": {}, **more}
        )

    return run


def test_typed_functions_are_described_by_their_annotations_and_docstrings(
    sandbox_service: RunningService, built: Any
) -> None:
    description = sandbox_service.client.describe(artifact=built("typed").artifact)
    tools = {tool.export: tool for tool in description.tools}
    assert set(tools) == {"area", "later", "not_a_number", "raw_bytes", "fails"}
    assert tools["area"].description == "Measure a box."
    assert tools["area"].input_schema == {
        "type": "object",
        "properties": {
            "box": {
                "type": "object",
                "properties": {
                    "width": {"type": "number"},
                    "height": {"type": "number", "default": 1.0},
                },
                "required": ["width"],
                "description": "The box that is measured.",
            },
            "unit": {"enum": ["m", "ft"], "default": "m", "description": "Of its sides."},
            "rounding": {"enum": ["up", "down"], "default": "up"},
        },
        "required": ["box"],
    }
    assert tools["later"].input_schema["properties"]["days"] == {
        "type": "integer",
        "description": "How many",
    }
    (problem,) = description.problems
    assert problem.export == "untyped"
    assert problem.message == "Its parameter “value” has no type."


def test_a_call_gets_values_of_the_annotated_types_and_its_output_is_json(call: Any) -> None:
    answer = call("typed", "area", {"box": {"width": 3}, "unit": "ft"})
    assert answer.output == {"area": "3ft2", "rounding": "up"}
    assert list(answer.logs) == [
        {"level": "log", "text": "measuring 3"},
        {"level": "warn", "text": "typed: careful"},
    ]
    output = call("typed", "later", {"days": 1, "names": ["a"]}).output
    assert sorted(output) == ["2020-01-02", "a"]


def test_an_answer_that_is_no_json_is_refused_by_name(call: Any) -> None:
    with pytest.raises(OutputRejected, match="the number nan, which is no JSON"):
        call("typed", "not_a_number")
    with pytest.raises(OutputRejected, match=r"bytes .* at \$\.parts\[0\]"):
        call("typed", "raw_bytes")


def test_a_value_that_a_type_refuses_is_the_callers_fault(call: Any) -> None:
    with pytest.raises(ToolInputRejected, match="“unit” is not accepted"):
        call("typed", "area", {"box": {"width": 3}, "unit": "mile"})


def test_what_a_function_raises_is_told_and_does_not_end_the_process(call: Any) -> None:
    with pytest.raises(ToolFailed, match="LookupError: nothing there"):
        call("typed", "fails", {"kind": "error"})
    with pytest.raises(ToolFailed, match="asked to end the process"):
        call("typed", "fails", {"kind": "exit"})


def test_a_tool_that_is_not_there_is_told_with_those_that_are(call: Any) -> None:
    with pytest.raises(UnknownExport, match=r"no tool “areas”. It offers area, later"):
        call("typed", "areas")


def test_dynamic_tools_declare_themselves_by_their_configuration(
    sandbox_service: RunningService, built: Any
) -> None:
    artifact = built("kit")
    assert artifact.manifest["outfitter"]["category"] == "writing"
    plain = sandbox_service.client.describe(artifact=artifact.artifact)
    (report,) = plain.tools
    assert (report.export, report.aliases) == ("write_report", ("ReportTool",))
    assert report.input_schema["properties"] == {"template": {"type": "string"}}
    assert (report.raw_string_args, report.required_scopes) == (("template",), ("reports:write",))
    assert [(item.export, item.reason) for item in plain.unavailable] == [
        ("keyed", "It does not offer itself with the present configuration.")
    ]
    options = {"tool_config": {"advanced": True, "api_key": "${KIT_KEY}"}}
    unset = sandbox_service.client.describe(artifact=artifact.artifact, options=options)
    assert unset.unavailable[0].reason.endswith("Not set: KIT_KEY.")
    full = sandbox_service.client.describe(
        artifact=artifact.artifact, options=options, env={"KIT_KEY": "0"}
    )
    assert [tool.export for tool in full.tools] == ["write_report", "keyed"]
    assert full.tools[0].input_schema["properties"]["depth"] == {
        "type": ["integer", "null"],
        "minimum": 1,
        "maximum": 9,
    }


def test_a_dynamic_tool_runs_between_init_and_cleanup_and_saves_artifacts(call: Any) -> None:
    answer = call(
        "kit",
        "write_report",
        {"template": "«uuid:»"},
        options={"tool_config": {"title": "On ${KIT_KEY}"}, "credential": "KIT_KEY"},
        env={"KIT_KEY": "s3cret"},
    )
    assert answer.output == {"title": "On s3cret", "template": "«uuid:»", "key": "s3cret"}
    assert list(answer.artifacts) == [
        {"name": "report.md", "media_type": "text/markdown", "size": 12, "data": "IyBPbiBzM2NyZXQK"}
    ]
    assert answer.logs[0]["text"] == "cleaned up"


def test_a_tool_that_does_not_offer_itself_cannot_be_called(call: Any) -> None:
    with pytest.raises(ToolUnavailable, match="“keyed” is not offered"):
        call("kit", "keyed")
    options = {"tool_config": {"api_key": "${KIT_KEY}"}, "credential": "KIT_KEY"}
    answer = call("kit", "keyed", options=options, env={"KIT_KEY": "k"})
    assert answer.output == {"key": "k", "same": True}


def test_the_class_name_picks_one_tool_of_several(
    sandbox_service: RunningService, built: Any
) -> None:
    description = sandbox_service.client.describe(
        artifact=built("kit").artifact, options={"class_name": "ReportTool"}
    )
    assert [tool.export for tool in description.tools] == ["write_report"]
    with pytest.raises(ImportBroken, match="kit has no “Nothing”"):
        sandbox_service.client.describe(
            artifact=built("kit").artifact, options={"class_name": "Nothing"}
        )


def test_the_weather_example_of_the_original_design_loads_and_names_the_host_it_may_not_reach(
    sandbox_service: RunningService, built: Any, call: Any
) -> None:
    description = sandbox_service.client.describe(artifact=built("weather_api").artifact)
    (tool,) = description.tools
    assert tool.export == "get_current_weather"
    assert tool.input_schema["required"] == ["location"]
    assert tool.input_schema["properties"]["units"] == {
        "type": ["string", "null"],
        "description": "Temperature units to use",
        "enum": ["celsius", "fahrenheit", "kelvin", None],
    }
    missing = call("weather_api", "get_current_weather", {"location": "Bern"})
    assert missing.output == {"status": "error", "message": "Weather API key not configured"}


def test_the_database_example_of_the_original_design_has_two_tools(
    sandbox_service: RunningService, built: Any, call: Any
) -> None:
    description = sandbox_service.client.describe(artifact=built("database_tools").artifact)
    names = [tool.export for tool in description.tools]
    assert names == ["execute_database_query", "get_database_schema"]
    answer = call("database_tools", "execute_database_query", {"query": "DROP TABLE x"})
    assert answer.output == {"status": "error", "message": "Only SELECT queries are allowed"}


def test_a_package_of_the_index_is_installed_from_wheels_and_called(
    sandbox_service: RunningService,
) -> None:
    artifact = sandbox_service.client.build(ecosystem="pypi", name="humanize", version=">=4,<5")
    assert artifact.version.startswith("4.")
    assert artifact.manifest["entries"] == [{"module": "humanize", "attribute": ""}]
    answer = sandbox_service.client.call(
        artifact=artifact.artifact, export="intcomma", arguments={"value": 12345}, env={}
    )
    assert answer.output == "12,345"


def test_langchain_tools_are_described_by_their_args_schema_and_invoked(
    sandbox_service: RunningService, python_tools: Path
) -> None:
    (python_tools / "chained.py").write_text(LANGCHAIN)
    artifact = sandbox_service.client.build(ecosystem="local", name="chained").artifact
    description = sandbox_service.client.describe(artifact=artifact)
    tools = {tool.export: tool for tool in description.tools}
    assert set(tools) == {"multiply", "asker", "wait"}
    assert tools["asker"].input_schema["properties"]["q"]["description"] == "The question"
    for export, arguments, output in (
        ("multiply", {"a": 3, "b": 4}, 12),
        ("asker", {"q": "why"}, {"q": "why"}),
        ("wait", {"seconds": 0}, "waited 0"),
    ):
        answer = sandbox_service.client.call(
            artifact=artifact, export=export, arguments=arguments, env={}
        )
        assert answer.output == output


LANGCHAIN = '''
# /// script
# dependencies = ["langchain-core"]
# ///
from langchain_core.tools import BaseTool, tool
from pydantic import BaseModel, Field


@tool
def multiply(a: int, b: int) -> int:
    """Multiply two numbers."""
    return a * b


@tool
async def wait(seconds: int) -> str:
    """Wait."""
    return f"waited {seconds}"


class Question(BaseModel):
    q: str = Field(description="The question")


class Asker(BaseTool):
    name: str = "asker"
    description: str = "Asks."
    args_schema: type[BaseModel] = Question

    def _run(self, q: str) -> dict:
        return {"q": q}
'''


def test_names_that_are_none_are_refused_before_anything_is_fetched(
    sandbox_service: RunningService,
) -> None:
    for ecosystem, name, version, words in (
        ("pypi", "-r/etc/passwd", None, "not the name of a Python package"),
        ("pypi", "humanize @ http://127.0.0.1/x.whl", None, "not the name"),
        ("pypi", "humanize", "file:///etc", "not a version"),
        ("local", "../secrets", None, "not the name of a module"),
        ("local", "json", None, "standard library"),
        ("local", "typed", "1.0", "no versions"),
    ):
        with pytest.raises(InvalidPackage, match=words):
            sandbox_service.client.build(ecosystem=ecosystem, name=name, version=version)


def test_a_module_that_is_not_there_is_told_with_those_that_are(
    sandbox_service: RunningService,
) -> None:
    with pytest.raises(PackageNotFound, match="There is no module nowhere") as caught:
        sandbox_service.client.build(ecosystem="local", name="nowhere")
    assert "typed" in caught.value.hint


def test_a_local_module_is_built_anew_when_its_file_changes(
    sandbox_service: RunningService, python_tools: Path
) -> None:
    file = python_tools / "changing.py"
    file.write_text("def one() -> int:\n    return 1\n")
    first = sandbox_service.client.build(ecosystem="local", name="changing")
    file.write_text("def one() -> int:\n    return 2\n")
    second = sandbox_service.client.build(ecosystem="local", name="changing")
    assert first.version != second.version
    outputs = [
        sandbox_service.client.call(artifact=key, export="one", arguments={}, env={}).output
        for key in (first.artifact, second.artifact)
    ]
    assert outputs == [1, 2]


def test_a_missing_dependency_is_named(sandbox_service: RunningService, python_tools: Path) -> None:
    (python_tools / "needy.py").write_text("import surely_not_installed\n")
    artifact = sandbox_service.client.build(ecosystem="local", name="needy").artifact
    with pytest.raises(ImportBroken, match="needs the module surely_not_installed"):
        sandbox_service.client.describe(artifact=artifact)


@pytest.mark.parametrize(
    ("export", "arguments"),
    [
        ("read", {"path": "/etc/shadow"}),
        ("read", {"path": "/proc/self/environ"}),
        ("read", {"path": "/work/main/manage.py"}),
        ("write", {"path": "/pkg/src/hostile.py"}),
        ("write", {"path": "/rt/python/worker.py"}),
        ("write", {"path": "/usr/python/x"}),
        ("fork", {}),
        ("program", {}),
        ("dial", {"host": "127.0.0.1", "port": 6379}),
        ("dial", {"host": "169.254.169.254", "port": 80}),
        ("fetch", {"url": "http://example.com/"}),
    ],
)
def test_a_hostile_module_is_stopped(call: Any, export: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(ToolError):
        call("hostile", export, arguments)
    assert call("hostile", "environment").output.keys() <= {
        *("HOME", "LANG", "LC_ALL", "PATH", "PWD", "TMPDIR", "PYTHONDONTWRITEBYTECODE")
    }


def test_a_call_sees_only_the_variables_of_its_own(call: Any) -> None:
    seen = call("hostile", "environment", env={"OWN": "mine"}).output
    assert seen["OWN"] == "mine"
    assert "DATABASE_URL" not in seen


def test_a_forged_answer_ends_the_call(call: Any) -> None:
    with pytest.raises(ToolError, match="not asked"):
        call("hostile", "forge")


def test_what_is_written_to_the_first_descriptors_is_no_message(call: Any) -> None:
    assert call("hostile", "print_to_protocol").output == "honest"


def test_memory_and_time_are_bounded(call: Any) -> None:
    with pytest.raises(OutOfMemory):
        call("hostile", "memory")
    with pytest.raises(ToolTimeout):
        call("hostile", "spin", timeout_seconds=1)


@pytest.mark.parametrize("export", ["by_name", "politely"])
def test_a_key_that_is_looked_for_in_vain_is_named(call: Any, export: str) -> None:
    with pytest.raises(ToolFailed) as caught:
        call("wanting", export)
    assert caught.value.extra["missing_env"] == ["DEMO_API_KEY"]
    assert call("wanting", "politely", env={"DEMO_API_KEY": "x"}).output == "has it"


def test_a_key_that_does_not_matter_to_the_tool_does_not_matter(call: Any) -> None:
    assert call("wanting", "needlessly").output == "fine"
    with pytest.raises(ToolFailed) as caught:
        call("wanting", "unrelated")
    assert "missing_env" not in caught.value.extra


def test_the_keys_that_a_modules_own_files_read_are_told(
    sandbox_service: RunningService, built: Any
) -> None:
    description = sandbox_service.client.describe(artifact=built("wanting").artifact)
    assert description.env == ("AT_IMPORT_TOKEN", "DEMO_API_KEY", "OTHER_SECRET")


def test_a_secret_of_a_call_is_not_in_the_process_list(
    call: Any, sandbox_service: RunningService
) -> None:
    secret = "canary-77c0de11"
    with ThreadPoolExecutor(1) as pool:
        cancel = threading.Event()
        given = {"env": {"KEY": secret}, "cancel": cancel}
        running = pool.submit(call, "wanting", "sleeps", {"seconds": 20}, **given)
        try:
            assert becomes_true(lambda: b"worker.py" in seen_of(sandbox_service))
            assert secret.encode() not in seen_of(sandbox_service)
        finally:
            cancel.set()
        with pytest.raises(CallCancelled):
            running.result()


def seen_of(service: RunningService) -> bytes:
    """Return what the process list shows of the service's sandboxes that run Python."""
    seen = b""
    store = str(service.folder).encode()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if store in (folder / "mountinfo").read_bytes():
                seen += (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
        except OSError:
            continue
    return seen
