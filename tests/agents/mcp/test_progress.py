"""A running call tells how far it is, and ends when its client gives it up."""

import asyncio
import itertools

import pytest

from agents.mcp.progress import Meter
from config.lib.threads import in_thread
from sequences.models import Run
from tests.agents.mcp.site import MODERN, token_for, using
from tests.agents.mcp.steps import counted_twice, printed, working
from tests.agents.mcp.test_asking import Person
from tests.factories import make_user
from tests.live import eventually

VERSIONS = (MODERN, "2025-11-25", "2025-03-26")


def grows(values):
    return all(before < after for before, after in itertools.pairwise(values))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_sequence_tells_its_steps_and_their_number(site, version):
    alice = make_user("alice")
    counted_twice(alice)
    told = []

    async def noted(progress, total, message):
        told.append((progress, total, message))

    async def use(client):
        return await client.call_tool("count_twice", {"text": "a b"}, progress_callback=noted)

    with working():
        answer = using(f"{site}/mcp", token_for(alice), use, version=version)
    assert not answer.is_error, answer.content
    assert grows([progress for progress, *_ in told])
    assert {total for _, total, _ in told} == {2.0}
    assert told[-1][0] == 2.0
    assert told[-1][2] == "Step 2 succeeded."
    assert all(message for *_, message in told)


@pytest.mark.parametrize("version", [MODERN, "2025-11-25"])
def test_progress_goes_on_growing_after_a_question(site, version):
    alice = make_user("alice")
    printed(alice)
    told, person = [], Person(("accept", {"copies": 1}))

    async def noted(progress, total, message):
        told.append(progress)

    async def use(client):
        return await client.call_tool("print_it", {"text": "a b"}, progress_callback=noted)

    with working():
        url = f"{site}/mcp"
        answer = using(url, token_for(alice), use, version=version, elicitation_callback=person)
    assert not answer.is_error, answer.content
    assert told[-1] == 3.0
    if version != MODERN:  # there every round is a request of its own, which begins anew
        assert grows(told)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_call_that_is_given_up_cancels_its_run(site, version):
    alice = make_user("alice")
    counted_twice(alice)  # nobody works: the run stays queued

    async def use(client):
        call = asyncio.create_task(client.call_tool("count_twice", {"text": "a"}))
        await in_thread(eventually, Run.objects.exists, what="the run")
        call.cancel()
        await asyncio.wait({call})
        await in_thread(
            eventually, Run.objects.filter(status="cancelled").exists, what="the cancel"
        )

    using(f"{site}/mcp", token_for(alice), use, version=version)
    assert Run.objects.get().status == "cancelled"


def test_a_call_that_is_given_up_while_a_person_is_asked_cancels_its_run(site):
    alice = make_user("alice")
    printed(alice)
    asked = []

    async def person(context, params):
        asked.append(params)
        await asyncio.sleep(60)

    async def use(client):
        call = asyncio.create_task(client.call_tool("print_it", {"text": "a"}))
        while not asked:
            await asyncio.sleep(0.05)
        call.cancel()
        await asyncio.wait({call})
        await in_thread(
            eventually, Run.objects.filter(status="cancelled").exists, what="the cancel"
        )

    url, token = f"{site}/mcp", token_for(alice)
    with working():
        using(url, token, use, version="2025-11-25", elicitation_callback=person)
    assert Run.objects.get().status == "cancelled"


def read(meter, *notes):
    steps = [meter.read(note) for note in notes]
    return [(step.progress, step.total) for step in steps if step]


def test_steps_count_once_and_lie_between_those_that_are_over():
    meter = Meter()
    assert meter.read({"message": "", "plan": [{"step": 1}, {"step": 2}]}) is None
    running, over = {"step": 1, "status": "running"}, {"step": 1, "status": "succeeded"}
    told = read(meter, running, {**running, "message": "1 done"}, over, over)
    assert told == [(0.5, 2.0), (0.75, 2.0), (1.0, 2.0)]


def test_what_another_server_says_goes_on_and_never_falls_back():
    told = read(Meter(), *({"progress": done, "total": 10} for done in (1, 5, 5, 2, 7)))
    assert told == [(1.0, 10), (5.0, 10), (7.0, 10)]


def test_what_another_server_says_may_begin_with_nought():
    told = read(Meter(), *({"progress": done, "total": 10} for done in (-1, 0, 0, 5)))
    assert told == [(0.0, 10), (5.0, 10)]


def test_other_notes_are_counted():
    assert read(Meter(), {"message": "a"}, {"message": "b"}) == [(1.0, None), (2.0, None)]


def test_more_notes_of_one_step_than_numbers_lie_between_are_dropped():
    meter = Meter()
    notes = [{"step": 1, "status": "running", "message": str(number)} for number in range(200)]
    told = [progress for progress, _ in read(meter, *notes)]
    assert grows(told)
    assert told[-1] < 1.0
