"""Programs that wait for a person: paused, and run again from what was kept of them."""

import json
import threading
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User

from registry.approval import Effect, Verdict
from registry.context import CallContext
from registry.errors import ProgramPaused, ReplayDiverged
from registry.execution import invoke
from registry.executors import base
from registry.executors.base import Output
from registry.loading import load_spec
from registry.models import Invocation
from registry.models.invocation import Caller, Decision
from registry.models.tool import ToolKind
from registry.replay import Decided, Pause, Replay
from registry.results import Failed, Succeeded
from registry.specs import ToolSpec
from registry.toolset import Toolset
from tests.factories import make_builtin, make_package, make_run_code, make_tool

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("sandbox_service"),
]


class Bench:
    """Runs programs that may wait; counts what its tools were really called with."""

    def __init__(self, user: User, spec: ToolSpec, tools: list[ToolSpec], made: list[Any]) -> None:
        self._user, self._spec = user, spec
        self._tools = Toolset([*tools, spec])
        self.made = made
        self.asks: frozenset[str] = frozenset()
        self.env: dict[str, str] = {}
        self.notes: list[Any] = []

    def run(self, code: str, replay: Replay | None, **circumstances: Any) -> Succeeded | Failed:
        def policy(spec: ToolSpec) -> Verdict:
            return Verdict(effect=Effect.ASK if spec.wire_name in self.asks else Effect.ALLOW)

        context = CallContext(
            user=self._user,
            caller=Caller.CHAT,
            tools=lambda: self._tools,
            policy=policy,
            env=lambda names: {n: self.env[n] for n in names if n in self.env},
            progress=self.notes.append,
            replay=replay,
            **circumstances,
        )
        return invoke(self._spec, {"code": code}, context)

    def pause(self, code: str, replay: Replay | None = None) -> Pause:
        """Run a program that is to be paused; return what is kept, as JSON would give it back."""
        result = self.run(code, replay or Replay())
        assert isinstance(result, Failed), result
        assert isinstance(result.error, ProgramPaused), result.error.as_dict()
        assert result.invocation_id is None
        assert result.details is not None
        return Pause.of(json.loads(json.dumps(result.details["pause"])))

    def resume(self, code: str, pause: Pause, **decided: Decided) -> Succeeded | Failed:
        """Run it again, with a decision on every call that waits, by its tool or for all."""
        return self.run(code, again(pause, decided))


def again(pause: Pause, decided: dict[str, Decided]) -> Replay:
    return Replay(
        start=pause.start,
        recorded={call.key: call for call in pause.calls},
        decided={call.key: decided.get(call.tool) or decided["all"] for call in pause.pending},
    )


@pytest.fixture
def bench(alice: User, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Offer `look` and `send`, `risky` and `keyed`: each gives back what it was called with."""
    made: list[Any] = []
    lock = threading.Lock()

    class Echo:
        def execute(self, spec: ToolSpec, arguments: Any, context: CallContext) -> Output:
            if spec.wire_name == "look":
                threading.Event().wait(arguments["n"])
            with lock:
                made.append((spec.wire_name, arguments))
                count = len(made)
            return Output(value={"tool": spec.wire_name, **arguments, "count": count})

    real = base.executor_for
    monkeypatch.setattr(
        "registry.execution.executor_for",
        lambda kind: Echo() if kind == ToolKind.NPM else real(kind),
    )
    anything = {"type": "object", "properties": {"n": {}}}
    tools = [
        make_tool(
            owner=alice, package=make_package(name=name), wire_name=name, input_schema=anything
        )
        for name in ("look", "send", "risky")
    ]
    keyed = make_tool(
        owner=alice,
        package=make_package(name="keyed", env=[{"name": "THE_KEY", "required": True}]),
        wire_name="keyed",
        input_schema=anything,
    )
    specs = [load_spec(tool) for tool in [*tools, keyed, make_builtin("calculator")]]
    return Bench(alice, load_spec(make_run_code()), specs, made)


LOOP = """
told = []
for n in range(5):
    name = "risky" if n == 2 else "send"
    try:
        told.append((await tool_call(name, n=n))["n"])
    except ToolCallError as error:
        told.append([error.code, error.message])
told
"""


@pytest.mark.parametrize(
    ("said", "third"),
    [
        (Decided(approved=True), 2),
        (Decided(approved=True, arguments={"n": 20}), 20),
        (
            Decided(approved=False, note="not today"),
            ["approval_denied", "A person denied risky: not today"],
        ),
    ],
)
def test_a_loop_waits_at_its_third_item_and_goes_on_as_decided(
    bench: Bench, said: Decided, third: Any
) -> None:
    bench.asks = frozenset({"risky"})
    pause = bench.pause(LOOP)
    assert [call.tool for call in pause.calls] == ["send", "send"]
    assert [(call.tool, call.arguments) for call in pause.pending] == [("risky", {"n": 2})]
    assert pause.pending[0].error["code"] == "approval_required"
    assert len(bench.made) == 2
    result = bench.resume(LOOP, pause, risky=said)
    assert isinstance(result, Succeeded), result
    assert result.output["result"] == [0, 1, third, 3, 4]
    sent = [arguments["n"] for name, arguments in bench.made if name == "send"]
    assert sent == [0, 1, 3, 4]  # each once
    assert result.invocation_id == UUID(pause.start.invocation)
    inside = Invocation.objects.filter(parent_id=result.invocation_id)
    assert inside.count() == 5, "what a person denied is written down too"
    assert inside.filter(decision=Decision.DENIED).count() == (said.approved is False)
    assert inside.filter(decision=Decision.APPROVED).count() == (said.approved is True)
    assert result.details is not None
    assert [bool(call.get("replayed")) for call in result.details["calls"]] == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_of_six_side_by_side_two_wait_and_the_others_are_made_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Long enough for all six to arrive, however seldom the program gets the processor.
    monkeypatch.setattr("registry.executors.pausing.BESIDE_SECONDS", 1.5)
    bench.asks = frozenset({"risky"})
    code = """
names = ["send", "risky", "send", "risky", "send", "send"]
said = await asyncio.gather(*(tool_call(name, n=n) for n, name in enumerate(names)))
[each["n"] for each in said]
"""
    pause = bench.pause(code)
    assert [call.arguments["n"] for call in pause.pending] == [1, 3]
    assert [call.outcome["output"]["n"] for call in pause.calls] == [0, 2, 4, 5]
    result = bench.resume(code, pause, all=Decided(approved=True))
    assert isinstance(result, Succeeded), result
    assert result.output["result"] == [0, 1, 2, 3, 4, 5]
    assert sorted(arguments["n"] for _, arguments in bench.made) == [0, 1, 2, 3, 4, 5]


def test_a_key_that_is_missing_is_waited_for_and_found_when_it_is_set(bench: Bench) -> None:
    code = "a = await send(n=1)\nb = await keyed(n=2)\n[a['n'], b['n']]"
    pause = bench.pause(code)
    assert pause.pending[0].error["code"] == "missing_credential"
    assert pause.pending[0].error["extra"]["missing"] == ["THE_KEY"]
    bench.env["THE_KEY"] = "s3cret-value-of-the-key"
    result = bench.resume(code, pause, keyed=Decided())
    assert isinstance(result, Succeeded), result
    assert result.output["result"] == [1, 2]
    assert [name for name, _ in bench.made] == ["send", "keyed"]


def test_a_key_that_the_person_does_not_give_is_told_to_the_program(bench: Bench) -> None:
    code = "try:\n    r = await keyed(n=2)\nexcept ToolCallError as e:\n    r = e.code\nr"
    result = bench.resume(code, bench.pause(code), keyed=Decided(skipped=True))
    assert isinstance(result, Succeeded), result
    assert result.output["result"] == "missing_credential"


def test_an_approved_call_that_lacks_a_key_waits_again_and_stays_approved(bench: Bench) -> None:
    bench.asks = frozenset({"keyed"})
    first = bench.pause("await keyed(n=1)")
    yes = Decided(approved=True)
    bench.env["THE_KEY"] = ""
    second = bench.pause("await keyed(n=1)", again(first, {"keyed": yes}))
    assert second.pending[0].error["code"] == "missing_credential"
    bench.env["THE_KEY"] = "s3cret-value-of-the-key"
    assert isinstance(bench.resume("await keyed(n=1)", second, keyed=yes), Succeeded)


def test_a_program_asks_the_person_and_gets_the_answer(bench: Bench) -> None:
    code = """
first = await send(n=1)
colour = await tool_call("ask_user", question="Which colour?", options=["red", "blue"])
print(colour)
(await send(n=colour))["n"]
"""
    pause = bench.pause(code)
    [asked] = pause.pending
    assert (asked.tool, asked.tool_id, asked.error["code"]) == ("ask_user", None, "question_asked")
    assert asked.error["extra"]["question"] == "Which colour?"
    assert asked.error["extra"]["options"] == ["red", "blue"]
    result = bench.resume(code, pause, ask_user=Decided(answer="blue"))
    assert isinstance(result, Succeeded), result
    assert (result.output["result"], result.output["printed"]) == ("blue", "blue\n")
    assert [arguments["n"] for _, arguments in bench.made] == [1, "blue"]


def test_a_question_that_is_skipped_has_no_answer(bench: Bench) -> None:
    code = "await ask_user(question='Which?')"
    result = bench.resume(code, bench.pause(code), ask_user=Decided(skipped=True))
    assert isinstance(result, Succeeded), result
    assert result.output["result"] is None


def test_a_question_that_makes_no_sense_is_told_to_the_program(bench: Bench) -> None:
    result = bench.run("await ask_user(question='')", Replay())
    assert isinstance(result, Failed)
    assert "invalid_arguments" in result.error.message


def test_outside_of_conversations_nothing_waits_and_nobody_is_asked(bench: Bench) -> None:
    bench.asks = frozenset({"risky"})
    code = """
told = []
for name in ("risky", "keyed", "ask_user"):
    try:
        await tool_call(name)
    except ToolCallError as error:
        told.append(error.code)
told
"""
    result = bench.run(code, None)
    assert isinstance(result, Succeeded), result
    assert result.output["result"] == ["approval_required", "missing_credential", "unknown_tool"]


STEADY = """
import datetime, random, secrets, time, uuid
from datetime import datetime as when
def now():
    return [
        random.random(), random.Random().random(), secrets.token_hex(4), str(uuid.uuid4()),
        str(uuid.uuid1()), time.time(), time.time_ns(), time.strftime("%H:%M:%S"),
        when.now().isoformat(), when.now(datetime.UTC).isoformat(), str(datetime.date.today()),
    ]
await send(n=now())
await asyncio.sleep(0.2)
time.sleep(0.1)
await send(n=now())
await risky(n=now())
isinstance(when(2024, 2, 29), datetime.date) and repr(when(2024, 2, 29))
"""


def test_chance_and_time_are_those_of_the_first_run(bench: Bench) -> None:
    bench.asks = frozenset({"risky"})
    pause = bench.pause(STEADY)
    result = bench.resume(STEADY, pause, all=Decided(approved=True))
    assert isinstance(result, Succeeded), result
    assert result.output["result"] == "datetime.datetime(2024, 2, 29, 0, 0)"
    assert [name for name, _ in bench.made] == ["send", "send", "risky"]
    first, second, third = (arguments["n"] for _, arguments in bench.made)
    assert third == pause.pending[0].arguments["n"]
    assert 0.2 < second[5] - first[5] < 60
    assert first[:5] != second[:5]
    assert abs(first[5] - pause.start.clock) < 60


def test_two_programs_are_not_dealt_the_same_chance(bench: Bench) -> None:
    code = "import random\nrandom.random()"
    results = [bench.run(code, Replay()) for _ in range(2)]
    assert all(isinstance(result, Succeeded) for result in results)
    first, second = (result.output["result"] for result in results)  # type: ignore[union-attr]
    assert first != second


def test_equal_calls_are_told_apart_by_their_order(bench: Bench) -> None:
    bench.asks = frozenset({"risky"})
    code = """
counts = [each["count"] for each in await asyncio.gather(*(send(n=1) for _ in range(6)))]
await send(n=counts)
(await risky(n=counts))["n"]
"""
    pause = bench.pause(code)
    result = bench.resume(code, pause, all=Decided(approved=True))
    assert isinstance(result, Succeeded), result
    assert len(bench.made) == 8


def test_a_program_that_takes_another_way_is_ended_before_it_calls_anything_new(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("registry.executors.pausing.HELD_SECONDS", 0.5)
    bench.asks = frozenset({"risky"})
    pause = bench.pause("import os\nawait send(n=1)\nawait risky(n=2)")
    result = bench.resume("await send(n=7)\nawait risky(n=2)", pause, all=Decided(approved=True))
    assert isinstance(result, Failed)
    assert isinstance(result.error, ReplayDiverged)
    assert "it called send, which it had not called before" in result.error.message
    assert "Nothing that it had called was called again" in result.error.hint
    assert bench.made == [("send", {"n": 1})]
    row = Invocation.objects.get(pk=pause.start.invocation)
    assert row.error_code == "replay_diverged"


def test_a_program_that_leaves_out_what_it_had_called_has_diverged(bench: Bench) -> None:
    bench.asks = frozenset({"risky"})
    pause = bench.pause("await send(n=1)\nawait risky(n=2)")
    result = bench.resume("1", pause, all=Decided(approved=True))
    assert isinstance(result, Failed)
    assert isinstance(result.error, ReplayDiverged)
    assert "it ended without calling send again" in result.error.message


def test_what_runs_beside_a_call_that_waits_is_let_finish(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.asks = frozenset({"risky"})
    code = "await asyncio.gather(look(n=0.8), risky(n=1))\n(await send(n=3))['n']"
    pause = bench.pause(code)
    assert [(call.tool, call.outcome["output"]["n"]) for call in pause.calls] == [("look", 0.8)]
    result = bench.resume(code, pause, all=Decided(approved=True))
    assert isinstance(result, Succeeded), result
    assert [name for name, _ in bench.made] == ["look", "risky", "send"]


def test_a_program_that_was_stopped_while_it_could_wait_is_just_stopped(bench: Bench) -> None:
    cancel = threading.Event()
    threading.Timer(1.0, cancel.set).start()
    result = bench.run("await asyncio.sleep(30)", Replay(), cancel=cancel)
    assert isinstance(result, Failed)
    assert result.error.code != "program_paused"


def test_a_call_kept_as_failed_fails_again_without_being_made(bench: Bench) -> None:
    bench.asks = frozenset({"risky"})
    code = """
try:
    await tool_call("calculator", expression="1/0")
except ToolCallError as error:
    told = error.message
await risky(n=1)
told
"""
    pause = bench.pause(code)
    made = Invocation.objects.count()
    result = bench.resume(code, pause, all=Decided(approved=True))
    assert isinstance(result, Succeeded), result
    assert "zero" in result.output["result"]
    assert Invocation.objects.count() == made + 2  # the approved call and the program itself
