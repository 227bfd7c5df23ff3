"""Start one sandbox, and end it for certain.

Waiting has its limit from `asyncio.timeout`, never `wait_for`: until Python 3.12 that could swallow
a cancellation which came in the moment its wait was over, and a cancelled call would run on.
"""

import asyncio
import contextlib
import json
import logging
import os
import select
import signal
from asyncio.subprocess import PIPE, Process
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from registry.sandbox.service.cgroup import Cell
from registry.sandbox.service.egress import Egress
from registry.sandbox.service.errors import ServiceError
from registry.sandbox.service.limits import MAX_STDERR_BYTES, STDERR_KEPT_BYTES
from registry.sandbox.service.profile import Launch

CHUNK_BYTES = 65_536
INFO_SECONDS = 10.0
END_SECONDS = 5.0
CELL_TRIES, CELL_PAUSE = 250, 0.02
# At rest is what ran for less than a millisecond in one pause; there are 0.3 seconds of them.
SETTLE_LOOKS, SETTLE_PAUSE, AT_REST = 12, 0.025, 1_000_000

logger = logging.getLogger("sandboxd")

Started = tuple[Process, int | None]
"""bubblewrap's own process, and the process id of the first one inside."""


@dataclass(frozen=True, slots=True)
class Finished:
    """How a program ended: its exit code (128 + n for signal n) and the end of its error output."""

    code: int
    stderr: str
    ran_out: bool = False
    """Whether the kernel ended it because its cgroup had no memory left."""


class Sandbox:
    """One running bubblewrap process.

    It must be started from the loop of the service's main thread: `--die-with-parent` fires when
    the thread that started it ends.
    """

    def __init__(
        self,
        process: Process,
        child: int | None,
        *,
        egress: Egress | None = None,
        cell: Cell | None = None,
    ) -> None:
        self.process = process
        self.child = child
        self.egress = egress
        self._cell = cell
        self._worker: int | None = None
        self._stderr = bytearray()
        self._stderr_total = 0
        self._stderr_reader = asyncio.create_task(self._read_stderr())

    @classmethod
    async def spawn(cls, launch: Launch) -> Self:
        """Start the prepared command; its descriptors are closed here in every case."""
        starting = asyncio.create_task(_start(launch))
        cancelled = await _wait_through(starting)
        sandbox = cls(*starting.result(), egress=launch.egress, cell=launch.cell)
        if cancelled:
            await sandbox.end()
            raise asyncio.CancelledError
        try:
            await sandbox._open_way_out()
        except BaseException:
            await sandbox.end()
            raise
        return sandbox

    async def _open_way_out(self) -> None:
        if self.egress is None:
            return
        if self.child is None:
            message = "The sandbox's first process is not known, so it was given no network."
            raise ServiceError("sandbox_unavailable", message)
        await self.egress.open(self.child, self.process.pid)

    @property
    def stderr(self) -> str:
        """The end of what the process wrote to its error output."""
        return self._stderr.decode("utf-8", "replace")

    async def _read_stderr(self) -> None:
        assert self.process.stderr is not None  # noqa: S101 - opened as a pipe above
        while chunk := await self.process.stderr.read(CHUNK_BYTES):
            self._stderr_total += len(chunk)
            self._stderr += chunk
            del self._stderr[:-STDERR_KEPT_BYTES]
            if self._stderr_total > MAX_STDERR_BYTES:
                self.kill()

    def kill(self) -> None:
        """Kill everything inside.

        The namespace's first process is the one to hit: killing the outer bubblewrap leaves a
        zombie. Once the outer one has been waited for, the number may be another process's. The
        program itself is hit besides, for the kernel comes to it only after the first process.
        """
        if self.process.returncode is None:
            self._signal(signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self.child or self.process.pid, signal.SIGKILL)

    @property
    def running(self) -> bool:
        """Say whether it still runs; of one that was paused, as the kernel knows it now."""
        if self.process.returncode is not None:
            return False
        if self._worker is None:
            return True
        poller = select.poll()
        poller.register(self._worker, select.POLLIN)
        return not poller.poll(0)  # a process's descriptor is readable once it has ended

    def pause(self) -> None:
        """Stop the program until it is resumed; it cannot tell, and cannot refuse."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a paused program go on."""
        self._signal(signal.SIGCONT)

    def halt(self) -> None:
        """Let nothing of the program run on; to be killed is still before it.

        A kill makes the kernel take the sandbox apart at once, which the answer would wait for.
        """
        self._signal(signal.SIGSTOP)
        if self._worker is None:
            self.kill()

    async def settle(self) -> None:
        """Return once the program is at rest: an engine works on after it has loaded a package.

        One that never rests is not waited for.
        """
        pid, spent = self._program(), 0
        for _ in range(SETTLE_LOOKS):
            await asyncio.sleep(SETTLE_PAUSE)
            if pid is None or not self.running:
                return
            before, spent = spent, processor_time(pid)
            if spent - before < AT_REST:
                return

    def memory(self) -> int:
        """Return the bytes in use: of the cgroup, else of the program alone; 0 if not known."""
        counted = None if self._cell is None else self._cell.memory()
        if counted is not None:
            return counted
        pid = self._program()
        return 0 if pid is None else _resident(pid)

    def _program(self) -> int | None:
        """Return the process id of the program: the one child of the namespace's first process."""
        if self.child is None:
            return None
        try:
            children = Path(f"/proc/{self.child}/task/{self.child}/children").read_text("ascii")
            return int(children.split()[0])
        except (OSError, IndexError):
            return None

    def _signal(self, number: signal.Signals) -> None:
        """Signal the program by a descriptor, which never comes to mean another process."""
        if self._worker is None and self.process.returncode is None:
            pid = self._program()
            with contextlib.suppress(OSError):
                self._worker = None if pid is None else os.pidfd_open(pid)
        if self._worker is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                signal.pidfd_send_signal(self._worker, number)

    async def finished(self) -> Finished:
        """Wait for the end of the process and of its error output."""
        code = await self.process.wait()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                await asyncio.shield(self._stderr_reader)
        ran_out = self._cell is not None and self._cell.ran_out()
        return Finished(code if code >= 0 else 128 - code, self.stderr, ran_out)

    async def end(self) -> None:
        """Kill and reap, so that nothing of the sandbox is left when this returns."""
        self.kill()
        if self.egress is not None:
            await self.egress.close()
        try:
            async with asyncio.timeout(END_SECONDS):
                await self._reaped()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process.pid, signal.SIGKILL)
            await self._reaped()
        self._stderr_reader.cancel()
        if self._worker is not None:
            os.close(self._worker)
            self._worker = None
        await self._leave_cell()

    async def _leave_cell(self) -> None:
        """Remove the cgroup; the kernel may count the dead for a moment longer."""
        for _ in range(CELL_TRIES):
            if self._cell is None or self._cell.remove():
                return
            await asyncio.sleep(CELL_PAUSE)
        logger.warning("a sandbox's cgroup could not be removed")

    async def _reaped(self) -> None:
        # asyncio reports the end of a process only once its pipes have been read empty.
        await self.discard_output()
        await self.process.wait()

    async def discard_output(self) -> None:
        """Read the output until it ends, keeping nothing."""
        stdout = self.process.stdout
        while stdout is not None and await stdout.read(CHUNK_BYTES):
            pass


async def _wait_through(task: asyncio.Task[Started]) -> bool:
    """Wait for a task that must not be interrupted; returns whether that was asked for.

    asyncio never returns when it is cancelled between the start of a process and the opening of
    its pipes (`_UnixSubprocessTransport._wait`, seen with Python 3.11). And before the child's
    number is known only bubblewrap can be killed, which may then not yet take its child along.
    """
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            cancelled = True
    return cancelled


async def _start(launch: Launch) -> Started:
    try:
        process = await asyncio.create_subprocess_exec(
            *launch.argv,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            pass_fds=launch.inherited,
            env={},
            start_new_session=True,
        )
    except OSError as error:
        launch.abandon()
        message = f"The sandbox could not be started: {error}."
        raise ServiceError("sandbox_unavailable", message) from error
    finally:
        launch.close_inherited()
    child = await _child_pid(launch.info)
    if launch.cell is not None:
        _admit(launch, launch.cell, child)
    return process, child


def _admit(launch: Launch, cell: Cell, child: int | None) -> None:
    """Put the child into its cgroup and let it go on; when that fails it ends by itself.

    A child whose number is not known did not get as far as waiting.
    """
    try:
        if child is not None:
            cell.admit(child)
            os.write(launch.gate, b"1")
    except OSError as error:
        logger.warning("a sandbox could not be put into its cgroup: %s", error)
        if child is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
    finally:
        os.close(launch.gate)


def processor_time(pid: int) -> int:
    """Return how long all threads of a process have run or waited to run, in nanoseconds."""
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:  # ended meanwhile
        return 0
    spent = 0
    for thread in threads:
        with contextlib.suppress(OSError, ValueError):
            ran, waited, _ = map(int, (thread / "schedstat").read_text("ascii").split())
            spent += ran + waited
    return spent


def _resident(pid: int) -> int:
    """Return what a process uses: shared pages in proportion where that can be read."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
    except (OSError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


async def _child_pid(info: int) -> int | None:
    """Read from bubblewrap's `--info-fd` the process id of the namespace's first process."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    pipe = open(info, "rb", buffering=0)  # noqa: SIM115 - the transport closes it
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    try:
        async with asyncio.timeout(INFO_SECONDS):
            text = await reader.read()
        return int(json.loads(text)["child-pid"])
    except (TimeoutError, ValueError, KeyError):
        return None
    finally:
        transport.close()
