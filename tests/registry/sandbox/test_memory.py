"""The memory budget and the pool's bookkeeping, with sandboxes that are none."""

import asyncio
from dataclasses import dataclass, field

import pytest

from registry.sandbox.service.errors import ServiceError
from registry.sandbox.service.limits import MB
from registry.sandbox.service.memory import Budget, default_budget_mb
from registry.sandbox.service.pool import ESTIMATE, SparePool


@dataclass(eq=False)
class Pretended:
    """A sandbox that keeps count of what is done with it."""

    size: int = ESTIMATE
    alive: bool = True
    did: list[str] = field(default_factory=list)

    def memory(self) -> int:
        return self.size

    def pause(self) -> None:
        self.did.append("pause")

    def resume(self) -> None:
        self.did.append("resume")

    async def settle(self) -> None:
        await asyncio.sleep(0)

    def halt(self) -> None:
        self.did.append("halt")

    def kill(self) -> None:
        self.alive = False

    async def end(self) -> None:
        self.did.append("end")


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Bench:
    """A pool and all that was started for it."""

    def __init__(self, megabytes: int, **more: float) -> None:
        self.clock = Clock()
        self.started: list[Pretended] = []
        self.pool: SparePool[Pretended] = SparePool(
            megabytes * MB,
            most=int(more.get("most", 8)),
            idle_seconds=more.get("idle", 90.0),
            clock=self.clock,
        )

    async def start(self) -> Pretended:
        self.started.append(Pretended())
        return self.started[-1]

    async def call(self, key: str) -> Pretended:
        """Make one call and wait for the spare it leaves."""
        async with self.pool.lease(key, self.start, label=key, group=key) as guest:
            assert guest.alive
        await self.settled()
        return guest

    async def settled(self) -> None:
        for _ in range(100):
            await asyncio.sleep(0.001)

    def ready(self) -> dict[str, int]:
        return {line["name"]: line["spares"] for line in self.pool.status()["lines"]}


def never() -> bool:
    return False


async def test_each_call_has_a_sandbox_of_its_own_that_is_ended() -> None:
    bench = Bench(1000)
    served = [await bench.call("a") for _ in range(3)]
    assert len({id(guest) for guest in served}) == 3
    assert all(guest.did[-1] == "end" for guest in served)
    assert served[1].did == ["pause", "resume", "halt", "end"]
    await bench.pool.close()
    assert all(guest.did[-1] == "end" for guest in bench.started)
    assert bench.pool.budget.used == 0


class Held(Bench):
    """A pool whose starts, from the second on, wait until they are let go."""

    def __init__(self) -> None:
        super().__init__(1000)
        self.go = asyncio.Event()
        self.fails = False

    async def start(self) -> Pretended:
        guest = await super().start()
        if len(self.started) == 2:
            await self.go.wait()
            if self.fails:
                raise ServiceError("import_broken", "It does not load.")
        return guest

    async def beside_a_start(self) -> "asyncio.Task[Pretended]":
        """Make a call, and begin another one while the spare that the first left is started."""
        await self.call("a")
        assert len(self.started) == 2
        task = asyncio.create_task(self.call("a"))
        await asyncio.sleep(0.01)
        return task


async def test_a_call_waits_for_a_spare_that_is_being_started() -> None:
    bench = Held()
    second = await bench.beside_a_start()
    assert len(bench.started) == 2, "starting a third at the same time would slow down both"
    bench.go.set()
    assert await second is bench.started[1]
    assert bench.started[1].did == ["halt", "end"]
    await bench.pool.close()


async def test_a_call_whose_spare_fails_to_start_starts_its_own() -> None:
    bench = Held()
    bench.fails = True
    second = await bench.beside_a_start()
    bench.go.set()
    assert await second is bench.started[2]
    await bench.pool.close()


async def test_a_spare_whose_call_gave_up_serves_the_next() -> None:
    bench = Held()
    second = await bench.beside_a_start()
    second.cancel()
    await asyncio.wait({second})
    bench.go.set()
    await bench.settled()
    assert await bench.call("a") is bench.started[1]
    await bench.pool.close()
    assert bench.pool.budget.used == 0


async def test_what_is_forgotten_while_a_call_waits_for_its_start_is_started_anew() -> None:
    bench = Held()
    second = await bench.beside_a_start()
    bench.pool.forget("a")
    assert await second is bench.started[2]
    await bench.pool.close()
    assert bench.pool.budget.used == 0


async def test_the_least_recently_used_spare_gives_way_first() -> None:
    bench = Bench(3 * 64)
    for key in ("a", "b"):
        await bench.call(key)
        bench.clock.now += 1
    await bench.call("a")
    bench.clock.now += 1
    await bench.call("c")
    assert bench.ready() == {"a": 1, "b": 1, "c": 1}
    bench.clock.now += 1
    await bench.call("d")
    assert bench.ready() == {"a": 1, "b": 0, "c": 1, "d": 1}
    assert bench.pool.budget.used <= 3 * 64 * MB
    await bench.pool.close()


async def test_calls_that_come_fast_have_two_spares() -> None:
    bench = Bench(1000)
    for _ in range(6):
        await bench.call("a")
    assert bench.ready() == {"a": 2}
    bench.clock.now += 60
    await bench.call("a")
    assert bench.ready() == {"a": 1}
    await bench.pool.close()


async def test_an_idle_line_keeps_nothing_and_is_forgotten_at_last() -> None:
    bench = Bench(1000, idle=90)
    await bench.call("a")
    bench.clock.now += 89
    bench.pool.tend()
    assert bench.ready() == {"a": 1}
    bench.clock.now += 2
    bench.pool.tend()
    assert bench.ready() == {"a": 0}
    bench.clock.now += 600
    bench.pool.tend()
    assert bench.ready() == {}
    await bench.pool.close()


async def test_a_dead_spare_is_not_handed_out() -> None:
    bench = Bench(1000)
    await bench.call("a")
    bench.started[-1].alive = False
    guest = await bench.call("a")
    assert guest.did != ["pause", "resume", "halt", "end"]
    assert bench.pool.status()["spares"]["lost"] == 1
    await bench.pool.close()


async def test_without_spares_each_call_starts_its_own() -> None:
    bench = Bench(1000, most=0)
    await bench.call("a")
    await bench.call("a")
    assert bench.pool.status()["spares"]["hits"] == 0
    assert len(bench.started) == 2
    await bench.pool.close()


async def test_a_start_that_fails_gives_its_memory_back() -> None:
    bench = Bench(1000)

    async def fail() -> Pretended:
        raise ServiceError("import_broken", "It does not load.")

    with pytest.raises(ServiceError, match="does not load"):
        async with bench.pool.lease("a", fail, label="a", group="a"):
            pass
    assert bench.pool.budget.used == 0
    assert bench.ready() == {"a": 0}
    await bench.pool.close()


async def test_what_is_forgotten_while_it_is_being_made_is_not_kept() -> None:
    bench = Bench(1000)
    async with bench.pool.lease("a", bench.start, label="a", group="a"):
        bench.pool.forget("a")
    await bench.settled()
    assert bench.ready() == {}
    assert all(guest.did[-1] == "end" for guest in bench.started)
    await bench.pool.close()


async def test_who_waits_for_memory_gets_it_in_turn() -> None:
    budget = Budget(100, never)
    first = await budget.reserve(80)
    waiting = [asyncio.create_task(budget.reserve(50)) for _ in range(2)]
    await asyncio.sleep(0)
    assert budget.waiting == 2
    assert budget.reserve_now(10) is None, "nobody overtakes"
    first.release()
    shares = await asyncio.gather(*waiting)
    assert budget.used == 100
    for share in shares:
        share.release()
    assert budget.used == 0


async def test_who_waits_too_long_for_memory_is_told_so() -> None:
    budget = Budget(100, never)
    await budget.reserve(80)
    with pytest.raises(ServiceError, match="memory for tools") as caught:
        await budget.reserve(50, seconds=0.01)
    assert caught.value.code == "sandbox_busy"
    assert budget.waiting == 0


async def test_who_stops_waiting_for_memory_leaves_the_line() -> None:
    budget = Budget(100, never)
    first = await budget.reserve(80)
    waiting = asyncio.create_task(budget.reserve(50))
    await asyncio.sleep(0)
    waiting.cancel()
    first.release()  # granted, perhaps, in the moment of the cancellation
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert (budget.used, budget.waiting) == (0, 0)


async def test_one_sandbox_may_run_however_small_the_budget_is() -> None:
    budget = Budget(10, never)
    share = await budget.reserve(500)
    assert budget.reserve_now(1) is None
    share.release()


async def test_a_sandbox_that_grows_counts_for_what_it_uses() -> None:
    budget = Budget(100, never)
    share = await budget.reserve(10)
    share.resize(95)
    assert budget.reserve_now(10) is None
    share.resize(20)
    assert budget.reserve_now(10) is not None


def test_the_budget_is_a_part_of_the_machines_memory() -> None:
    assert default_budget_mb() >= 256
