"""Tools that misbehave: each is stopped, is named for what it did, and harms no later call."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from registry import errors
from registry.sandbox.client import Artifact, CallOutput, LocalSandbox
from tests.registry.sandbox.service import (
    RunningService,
    becomes_true,
    seen_of_workers,
    workers,
)

pytestmark = pytest.mark.sandbox

SECRET = "sk-test-" + "7" * 40


@pytest.fixture
def run(sandbox: LocalSandbox, hostile: Artifact) -> Iterator[Any]:
    """Call a tool of the hostile package; afterwards an honest call must work as ever."""

    def call(
        export: str, arguments: Any = None, *, env: Any = None, seconds: float = 60, **more: Any
    ) -> CallOutput:
        return sandbox.call(
            artifact=hostile.artifact,
            export=export,
            arguments=arguments or {},
            env=env or {},
            timeout_seconds=seconds,
            **more,
        )

    yield call
    assert call("echo", {"still": ["honest", 1, None]}).output == {"still": ["honest", 1, None]}
    assert becomes_true(lambda: sandbox.status()["running"] == 0)


@pytest.mark.parametrize("export", ["hangs", "spins"])
def test_a_tool_that_never_answers_is_stopped_in_time(run: Any, export: str) -> None:
    with pytest.raises(errors.ToolTimeout, match=f"{export} did not answer within 1 seconds"):
        run(export, seconds=1)


@pytest.mark.parametrize(
    ("export", "error", "words"),
    [
        ("exits", errors.ToolCrashed, "exit code 3"),
        ("throws", errors.ToolFailed, "the tool is not in the mood"),
        ("throwsNothing", errors.ToolFailed, "undefined"),
        ("answersBigInt", errors.OutputRejected, "BigInt"),
        ("answersFunction", errors.OutputRejected, "a function, not with JSON"),
        ("answersCycle", errors.OutputRejected, "circular"),
        ("answersDeep", errors.ProtocolViolation, "nested too deeply"),
        ("answersTooMuch", errors.OutputTooLarge, "2.0 MB; at most 1 MB"),
        ("answersFarTooMuch", errors.OutputTooLarge, "more than 4 MB"),
        ("writesGarbage", errors.ProtocolViolation, "not JSON"),
        ("floodsLog", errors.ProtocolViolation, "20,000 messages"),
        ("floodsLine", errors.OutputTooLarge, "more than 4 MB"),
        ("floodsErrors", errors.ToolCrashed, "SIGKILL"),
        ("noSuchTool", errors.UnknownExport, 'no tool "noSuchTool"'),
        ("toString", errors.UnknownExport, 'no tool "toString"'),
    ],
)
def test_what_a_tool_did_is_named(
    run: Any, export: str, error: type[errors.ToolError], words: str
) -> None:
    with pytest.raises(error) as caught:
        run(export)
    assert type(caught.value) is error
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("export", "output"),
    [
        ("answersUndefined", None),
        ("answersNaN", {"value": None}),
        ("answersNul", "a�b?c"),
        ("streams", "last"),
    ],
)
def test_odd_answers_become_what_json_and_postgresql_can_hold(
    run: Any, export: str, output: Any
) -> None:
    assert run(export).output == output


@pytest.mark.parametrize("export", ["fillsHeap", "fillsBuffers"])
def test_memory_without_end_is_refused(run: Any, export: str) -> None:
    with pytest.raises(errors.OutOfMemory, match="more memory than a call may"):
        run(export, seconds=60)


@pytest.mark.parametrize(
    "path", ["/etc/shadow", "/proc/self/environ", "/proc/1/status", "/rt/worker.mjs", __file__]
)
def test_files_outside_the_sandbox_cannot_be_read(run: Any, path: str) -> None:
    # A path under /tmp (where a clone may lie) may be read, but is not there.
    with pytest.raises(errors.ToolFailed, match=r"(?i)outside its sandbox|no such file") as caught:
        run("readsFile", {"path": path})
    assert path in caught.value.message


@pytest.mark.parametrize("path", ["/x", "/pkg/x", "/cache/x", "/rt/x", "/dev/x", "/dev/shm/x"])
def test_nothing_but_its_temporary_folder_can_be_written(run: Any, path: str) -> None:
    with pytest.raises(errors.ToolFailed, match="outside its sandbox"):
        run("writesFile", {"path": path})


def test_a_temporary_file_is_gone_with_its_call(run: Any) -> None:
    assert run("leavesFile").output == "x"
    with pytest.raises(errors.ToolFailed, match=r"No such file|ENOENT"):
        run("readsFile", {"path": "/tmp/left-behind"})
    assert not Path("/tmp/left-behind").exists()


@pytest.mark.parametrize("export", ["fetches", "requests"])
def test_the_network_is_refused_by_the_name_of_the_host(run: Any, export: str) -> None:
    with pytest.raises(
        errors.NetworkDenied, match=r"tried to reach example\.com\S* over the network"
    ):
        run(export, {"url": "http://example.com/"})


def test_a_server_on_the_host_cannot_be_reached(run: Any, npm_settings: dict[str, str]) -> None:
    registry = Path(npm_settings["NPM_CONFIG_USERCONFIG"]).read_text().rpartition("=")[2].strip()
    with pytest.raises(errors.NetworkDenied, match="over the network"):
        run("fetches", {"url": registry})


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/x.mjs", "https://example.com/x.mjs"])
def test_code_cannot_be_imported_from_the_network(run: Any, url: str) -> None:
    with pytest.raises(errors.ToolFailed):
        run("importsRemote", {"url": url})


@pytest.mark.parametrize(
    ("export", "words"),
    [("spawns", "tried to start the program"), ("spawnsLikeNode", "Command failed")],
)
def test_a_program_cannot_be_started(run: Any, export: str, words: str) -> None:
    with pytest.raises(errors.ToolFailed, match=words):
        run(export)


def test_an_answer_to_a_question_that_was_not_asked_ends_the_process(run: Any) -> None:
    with pytest.raises(errors.ProtocolViolation, match="question that was not asked"):
        run("forges")


def test_what_a_tool_patches_is_gone_with_its_process(run: Any) -> None:
    assert run("patches").output == "patched"


def test_the_environment_of_one_call_is_not_seen_by_the_next(run: Any) -> None:
    assert run("readsEnvironment", {"name": "KEY"}, env={"KEY": SECRET}).output == SECRET
    assert run("readsEnvironment", {"name": "KEY"}, env={}).output is None


def test_the_environment_of_the_service_is_not_seen(run: Any) -> None:
    for name in ("NPM_CONFIG_USERCONFIG", "SECRET_KEY", "DATABASE_URL"):
        assert run("readsEnvironment", {"name": name}).output is None


def test_a_secret_is_not_in_the_process_list(run: Any, sandbox_service: RunningService) -> None:
    cancel = threading.Event()
    failures: list[Exception] = []

    def hang() -> None:
        try:
            run("hangs", env={"KEY": SECRET}, cancel=cancel)
        except errors.CallCancelled as error:
            failures.append(error)

    thread = threading.Thread(target=hang)
    thread.start()
    try:
        assert becomes_true(lambda: workers(sandbox_service))
        assert SECRET.encode() not in seen_of_workers(sandbox_service)
    finally:
        cancel.set()
        thread.join()
    assert len(failures) == 1


def test_a_cancelled_call_is_dead_at_once(
    run: Any, sandbox: LocalSandbox, sandbox_service: RunningService, hostile: Artifact
) -> None:
    cancel = threading.Event()
    seen: list[Path] = []
    # What an earlier call has left to be made ready for the next is none of this call's.
    sandbox.forget(hostile.artifact)
    assert becomes_true(lambda: not workers(sandbox_service))

    def stop() -> None:
        becomes_true(lambda: len(workers(sandbox_service)) >= 2)  # bubblewrap's own, and the tool
        seen.extend(workers(sandbox_service))
        cancel.set()

    stopping = threading.Thread(target=stop)
    stopping.start()
    with pytest.raises(errors.CallCancelled):
        run("spins", cancel=cancel, seconds=300)
    stopping.join()
    assert seen
    assert not [folder for folder in seen if folder.exists()]
    assert sandbox.status()["running"] == 0


@pytest.mark.parametrize("milliseconds", range(0, 160, 10))
def test_a_call_may_be_cancelled_at_any_moment(
    run: Any, sandbox_service: RunningService, milliseconds: int
) -> None:
    cancel = threading.Event()
    timer = threading.Timer(milliseconds / 1000, cancel.set)
    timer.start()
    with pytest.raises(errors.CallCancelled):
        run("hangs", cancel=cancel, seconds=300)
    assert becomes_true(lambda: not workers(sandbox_service))


def test_what_a_tool_prints_is_kept_beside_its_answer(run: Any) -> None:
    heard: list[tuple[str, str]] = []
    answer = run("prints", on_log=lambda level, text: heard.append((level, text)))
    assert answer.output == "done"
    assert [line["text"] for line in answer.logs] == ["one { two: 2 }", "three", "four"]
    assert heard == [(line["level"], line["text"]) for line in answer.logs]


def test_many_calls_at_once_each_get_their_own_answer(run: Any) -> None:
    answers: dict[int, Any] = {}

    def call(number: int) -> None:
        answers[number] = run("greets", {"name": str(number)}).output

    threads = [threading.Thread(target=call, args=[number]) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: f"Hello {number}" for number in range(12)}
