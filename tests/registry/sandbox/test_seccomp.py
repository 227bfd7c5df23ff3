"""The system call filter, run by an interpreter of its own for both machine types."""

import errno
import socket

import pytest

from registry.sandbox.service import seccomp
from registry.sandbox.service.syscalls import ABSENT, ARCHITECTURES, INSPECTED
from tests.registry.sandbox.bpf import verdict

MACHINES = sorted(ARCHITECTURES)
EXIT = {"x86_64": 60, "aarch64": 93}
THREAD = 0x003D0F00
NEW_USER = 0x10000000


def judge(
    machine: str,
    call: str | int,
    *arguments: int,
    families: tuple[int, ...] = seccomp.NO_NETWORK,
    audit: int | None = None,
) -> int:
    architecture = ARCHITECTURES[machine]
    number = architecture.numbers[call] if isinstance(call, str) else call
    program = seccomp.compile_filter(families, machine)
    return verdict(program, audit=audit or architecture.audit, number=number, arguments=arguments)


def refused(error: int) -> int:
    return seccomp.ERRNO | error


@pytest.mark.parametrize("machine", MACHINES)
def test_another_machines_calls_kill(machine: str) -> None:
    others = {a.audit for name, a in ARCHITECTURES.items() if name != machine} | {0x40000003}
    for audit in others:
        assert judge(machine, EXIT[machine], audit=audit) == seccomp.KILL_PROCESS


@pytest.mark.parametrize("machine", MACHINES)
def test_every_listed_call_is_refused_and_a_plain_one_is_not(machine: str) -> None:
    for name in ARCHITECTURES[machine].numbers:
        if name in INSPECTED:
            continue
        expected = errno.ENOSYS if name in ABSENT else errno.EPERM
        assert judge(machine, name) == refused(expected), name
    assert judge(machine, EXIT[machine]) == seccomp.ALLOW


@pytest.mark.parametrize("machine", MACHINES)
def test_only_the_families_asked_for_can_be_made(machine: str) -> None:
    inet = {socket.AF_INET, socket.AF_INET6}
    for family in range(64):
        closed = judge(machine, "socket", family)
        opened = judge(machine, "socket", family, families=seccomp.INTERNET)
        is_unix = family == socket.AF_UNIX
        denied = refused(errno.EAFNOSUPPORT)
        assert closed == (seccomp.ALLOW if is_unix else denied), family
        assert opened == (seccomp.ALLOW if is_unix or family in inet else denied), family
        assert judge(machine, "socketpair", family) == closed


@pytest.mark.parametrize("machine", MACHINES)
def test_a_thread_can_be_made_but_no_process_and_no_namespace(machine: str) -> None:
    assert judge(machine, "clone", THREAD) == seccomp.ALLOW
    assert judge(machine, "clone", 17) == refused(errno.EPERM)
    assert judge(machine, "clone", NEW_USER) == refused(errno.EPERM)
    assert judge(machine, "clone", THREAD | NEW_USER) == refused(errno.EPERM)


@pytest.mark.parametrize("machine", MACHINES)
def test_terminal_tricks_and_personalities_are_refused(machine: str) -> None:
    assert judge(machine, "ioctl", 0, 0x5401) == seccomp.ALLOW
    for request in seccomp.REFUSED_IOCTLS:
        assert judge(machine, "ioctl", 0, request) == refused(errno.EPERM)
        # The kernel looks at 32 bits of the request only.
        assert judge(machine, "ioctl", 0, request | 1 << 32) == refused(errno.EPERM)
    for personality in seccomp.ALLOWED_PERSONALITIES:
        assert judge(machine, "personality", personality) == seccomp.ALLOW
    assert judge(machine, "personality", 0x0400000) == refused(errno.EPERM)


@pytest.mark.parametrize("machine", MACHINES)
def test_files_that_all_sandboxes_share_can_be_neither_watched_nor_held(machine: str) -> None:
    for command in (0, 2, 1030):  # to copy a descriptor, to close it with exec, both
        assert judge(machine, "fcntl", 3, command) == seccomp.ALLOW
    for command in seccomp.REFUSED_FCNTLS:
        assert judge(machine, "fcntl", 3, command) == refused(errno.EPERM)
        assert judge(machine, "fcntl", 3, command | 1 << 32) == refused(errno.EPERM)


def test_the_x32_calls_of_x86_64_do_not_exist() -> None:
    assert judge("x86_64", seccomp.X32_BIT | 1) == refused(errno.ENOSYS)


@pytest.mark.parametrize("machine", MACHINES)
def test_no_call_number_is_listed_twice(machine: str) -> None:
    numbers = list(ARCHITECTURES[machine].numbers.values())
    assert len(numbers) == len(set(numbers))
