"""States of health: what decides them, what heals them, and that they mean the same everywhere."""

from itertools import product

import pytest

from registry import errors
from registry.context import CallContext
from registry.errors import Fault, ToolError
from registry.execution import invoke
from registry.executors import base
from registry.executors.base import Output
from registry.loading import load_spec
from registry.models import Tool
from registry.models.health import (
    UNWELL,
    ExecutionHealth,
    Health,
    HealthState,
    in_state,
    state_of,
)
from registry.models.invocation import Caller
from registry.needs import packages_lacking_keys, tell_needs
from tests.architecture.source import import_everything, subclasses_of
from tests.factories import make_package, make_tool

pytestmark = pytest.mark.django_db


@pytest.fixture
def ends(monkeypatch):
    """Return a function that says how calls of npm tools end from now on."""
    outcome = []

    class Scripted:
        def execute(self, spec, arguments, context):
            if isinstance(outcome[-1], ToolError):
                raise type(outcome[-1])(outcome[-1].message, outcome[-1].hint, **outcome[-1].extra)
            return Output(value=outcome[-1])

    real = base.executor_for
    monkeypatch.setattr(
        "registry.execution.executor_for",
        lambda kind: Scripted() if kind == "npm" else real(kind),
    )
    return outcome.append


def call(tool, user, **fields):
    context = CallContext(user=user, caller=Caller.REST, **fields)
    result = invoke(load_spec(tool), {"text": "x"}, context)
    tool.refresh_from_db()
    return result


def holding(**values):
    return {"env": lambda names: {name: values[name] for name in names if name in values}}


def tool_errors():
    return set(subclasses_of(ToolError)) - {ToolError}


def test_every_error_of_a_call_decides_what_it_says_of_the_tool():
    import_everything()
    below = {error: error.__mro__[: error.__mro__.index(ToolError)] for error in tool_errors()}
    undecided = [
        error.__name__
        for error, classes in below.items()
        if not any("health" in vars(cls) for cls in classes)
    ]
    assert undecided == []


def test_the_state_in_python_and_in_the_database_is_the_same():
    for import_health, execution_health in product(Health.values, ExecutionHealth.values):
        make_tool(import_health=import_health, execution_health=execution_health)

    told = {state: set() for state in HealthState}
    for tool in Tool.objects.all():
        told[tool.health_state].add(tool.pk)
    found = {
        state: set(Tool.objects.filter(in_state(state)).values_list("pk", flat=True))
        for state in HealthState
    }
    assert found == told
    assert all(told.values())
    assert sum(map(len, told.values())) == 18


def test_filters_know_all_that_is_broken_and_all_that_is_not_well():
    broken = make_tool(import_health=Health.BROKEN)
    down = make_tool(execution_health=ExecutionHealth.UPSTREAM_DOWN)
    make_tool(execution_health=ExecutionHealth.HEALTHY)
    make_tool()

    assert list(Tool.objects.filter(in_state("broken"))) == [broken]
    assert set(Tool.objects.filter(in_state(UNWELL))) == {broken, down}
    assert not Tool.objects.filter(in_state("nonsense")).exists()


def test_that_a_tool_loads_comes_before_that_it_answers():
    assert state_of("broken", "healthy") == HealthState.IMPORT_BROKEN
    assert state_of("healthy", "upstream_down") == HealthState.UPSTREAM_DOWN


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (errors.ImportBroken("x"), HealthState.IMPORT_BROKEN),
        (errors.UnknownExport("x"), HealthState.IMPORT_BROKEN),
        (errors.ToolCrashed("x"), HealthState.EXECUTION_BROKEN),
        (errors.ToolTimeout("x"), HealthState.EXECUTION_BROKEN),
        (errors.ProtocolViolation("x"), HealthState.EXECUTION_BROKEN),
        (errors.OutputRejected("x"), HealthState.EXECUTION_BROKEN),
        (errors.UpstreamUnreachable("x"), HealthState.UPSTREAM_DOWN),
        (errors.UpstreamAuth("x"), HealthState.NEEDS_SIGN_IN),
        (errors.ToolFailed("x", missing_env=["NEW_API_KEY"]), HealthState.NEEDS_KEY),
        (errors.MissingCredential("x", missing=["A"]), HealthState.UNKNOWN),
        (errors.ToolFailed("it crashed, timed out, 401, 503"), HealthState.UNKNOWN),
        (errors.ToolInputRejected("x"), HealthState.UNKNOWN),
        (errors.InvalidArguments("x"), HealthState.UNKNOWN),
        (errors.SandboxUnavailable("x"), HealthState.UNKNOWN),
        (errors.SandboxBusy("x"), HealthState.UNKNOWN),
        (errors.RegistryUnreachable("x"), HealthState.UNKNOWN),
        (errors.CallCancelled("x"), HealthState.UNKNOWN),
        (errors.PermissionRefused("x"), HealthState.UNKNOWN),
    ],
    ids=lambda value: getattr(value, "code", value),
)
def test_the_class_of_an_error_decides_and_a_success_heals(alice, ends, error, state):
    tool = make_tool()
    ends(error)
    call(tool, alice)
    assert tool.health_state == state
    if state == HealthState.UNKNOWN:
        assert tool.health_error is None
    else:
        assert tool.health_error["code"] in (error.code, "missing_credential")

    ends("fine")
    call(tool, alice)
    assert tool.health_state == HealthState.HEALTHY
    assert tool.health_error is None


def test_a_refused_key_is_held_against_the_tool_only_when_other_peoples_are_refused_too(
    alice, bob, ends
):
    tool = make_tool(package=make_package(env=[{"name": "KEY"}]))
    ends(errors.UpstreamAuth("401"))
    for _ in range(4):
        call(tool, alice, **holding(KEY="wrong-value"))
        assert tool.health_state == HealthState.UNKNOWN, "it may be this one key"

    call(tool, bob, **holding(KEY="other-value"))
    assert tool.health_state == HealthState.NEEDS_SIGN_IN


def test_a_missing_key_is_told_to_who_lacks_it_and_stored_for_nobody(alice, bob, ends, settings):
    keys = {alice: {"KEY": "set"}, bob: {}}
    env_of = f"{__name__}.env_of"
    globals()["env_of"] = lambda user, agent: (
        lambda names: {name: keys[user][name] for name in names if name in keys[user]}
    )
    settings.TOOL_CREDENTIALS = env_of
    package = make_package(env=[{"name": "KEY"}, {"name": "MORE", "required": False}])
    tool, free = make_tool(package=package), make_tool()
    ends("fine")

    assert call(tool, bob).error.code == "missing_credential"
    assert tool.health_state == HealthState.UNKNOWN
    tell_needs([tool, free], bob)
    assert (tool.needs, free.needs) == (("KEY",), ())
    tell_needs([tool], alice)
    assert tool.needs == ()
    assert packages_lacking_keys(bob) == [package.pk]
    assert packages_lacking_keys(alice) == []


def test_a_timeout_names_the_phase_in_which_it_happened(alice, ends):
    tool = make_tool()
    ends(errors.ToolTimeout("x", phase="load"))

    assert errors.ToolTimeout("x").as_dict()["extra"]["phase"] == "execute"
    assert errors.ToolTimeout("x", phase="load").as_dict()["extra"]["phase"] == "load"
    ends(errors.SearchTimeout("x"))
    assert call(tool, alice).error.as_dict()["extra"]["phase"] == "search"


def test_every_fault_is_somebodys():
    used = {error.health for error in subclasses_of(ToolError)}
    assert used | {Fault.NEEDS_KEY} == set(Fault)
