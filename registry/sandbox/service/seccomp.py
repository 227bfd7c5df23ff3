"""Write the seccomp filter of a sandbox as classic BPF, with no library but the standard one.

The filter kills on a foreign architecture, answers ENOSYS to calls that programs can do without,
EPERM to those that reach for other processes, mounts, namespaces or kernel internals, and lets
`socket` make only the families it is told. Source of the encoding: `linux/filter.h`,
`linux/seccomp.h`; field offsets are those of `struct seccomp_data`, little endian.
"""

import errno
import platform
import socket
import struct
from dataclasses import dataclass

from registry.sandbox.service.syscalls import ABSENT, ARCHITECTURES, INSPECTED, Architecture

LOAD_WORD, JUMP_EQUAL, JUMP_AT_LEAST, JUMP_ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, KILL_PROCESS, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
NUMBER_OFFSET, ARCHITECTURE_OFFSET, ARGUMENTS_OFFSET = 0, 4, 16

X32_BIT = 0x40000000
CLONE_THREAD = 0x00010000
# NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
CLONE_NAMESPACES = 0x00020000 | 0x7E000000
# TIOCSTI and TIOCLINUX push characters into a terminal's input.
REFUSED_IOCTLS = (0x5412, 0x541C)
# F_SETLEASE holds up whoever opens the file, F_NOTIFY tells who does (as inotify would): files of
# the store and of the runtime are every sandbox's. F_SETPIPE_SZ takes memory that no limit counts.
REFUSED_FCNTLS = (1024, 1026, 1031)
# PER_LINUX, and the question which one is set.
ALLOWED_PERSONALITIES = (0, 0xFFFFFFFF)

# Refused unless the program may start others; `clone` is looked at more closely.
SPAWNING = ("fork", "vfork")

NO_NETWORK = (int(socket.AF_UNIX),)
INTERNET = (int(socket.AF_UNIX), int(socket.AF_INET), int(socket.AF_INET6))


@dataclass(frozen=True, slots=True)
class Instruction:
    """One BPF instruction: opcode, jumps taken when true or false, operand."""

    code: int
    operand: int
    if_true: int = 0
    if_false: int = 0

    def encode(self) -> bytes:
        """Return the eight bytes of `struct sock_filter`."""
        return struct.pack("<HBBI", self.code, self.if_true, self.if_false, self.operand)


Program = list[Instruction]


def _refuse(error: int) -> Instruction:
    return Instruction(RETURN, ERRNO | error)


def _load_argument(index: int) -> Instruction:
    return Instruction(LOAD_WORD, ARGUMENTS_OFFSET + 8 * index)


_LOAD_NUMBER = Instruction(LOAD_WORD, NUMBER_OFFSET)


def _on_call(number: int, body: Program) -> Program:
    """Run `body` for one system call only; the number is loaded again for the next rule."""
    body = [*body, _LOAD_NUMBER]
    return [Instruction(JUMP_EQUAL, number, 0, len(body)), *body]


def _allow_only(values: tuple[int, ...], argument: int, error: int) -> Program:
    """Return a body that refuses unless the argument is one of the values."""
    tests = [
        Instruction(JUMP_EQUAL, value, if_true=len(values) - position)
        for position, value in enumerate(values)
    ]
    return [_load_argument(argument), *tests, _refuse(error)]


def _refuse_values(values: tuple[int, ...], argument: int, error: int) -> Program:
    """Return a body that refuses when the argument is one of the values."""
    tests = [Instruction(JUMP_EQUAL, value, 0, 1) for value in values]
    refusals = [step for test in tests for step in (test, _refuse(error))]
    return [_load_argument(argument), *refusals]


def _preamble(architecture: Architecture) -> Program:
    program = [
        Instruction(LOAD_WORD, ARCHITECTURE_OFFSET),
        Instruction(JUMP_EQUAL, architecture.audit, if_true=1),
        Instruction(RETURN, KILL_PROCESS),
        _LOAD_NUMBER,
    ]
    if architecture.x32:
        program += [Instruction(JUMP_AT_LEAST, X32_BIT, 0, 1), _refuse(errno.ENOSYS)]
    return program


def _no_namespaces(*, processes: bool) -> Program:
    """Return a body for `clone` that makes threads, and perhaps processes, but no namespace."""
    threads_only = [
        Instruction(JUMP_ANY_BIT, CLONE_THREAD, if_true=1),
        _refuse(errno.EPERM),
    ]
    return [
        _load_argument(0),
        *(() if processes else threads_only),
        Instruction(JUMP_ANY_BIT, CLONE_NAMESPACES, 0, 1),
        _refuse(errno.EPERM),
    ]


def instructions(families: tuple[int, ...], machine: str, *, processes: bool = False) -> Program:
    """Return the filter for one machine type; KeyError when there is no table for it."""
    architecture = ARCHITECTURES[machine]
    numbers = architecture.numbers
    program = _preamble(architecture)
    for name, number in numbers.items():
        if name not in INSPECTED and not (processes and name in SPAWNING):
            error = errno.ENOSYS if name in ABSENT else errno.EPERM
            program += [Instruction(JUMP_EQUAL, number, 0, 1), _refuse(error)]
    unix_only = _allow_only(NO_NETWORK, 0, errno.EAFNOSUPPORT)
    program += _on_call(numbers["clone"], _no_namespaces(processes=processes))
    program += _on_call(numbers["socket"], _allow_only(families, 0, errno.EAFNOSUPPORT))
    program += _on_call(numbers["socketpair"], unix_only)
    program += _on_call(numbers["ioctl"], _refuse_values(REFUSED_IOCTLS, 1, errno.EPERM))
    program += _on_call(numbers["fcntl"], _refuse_values(REFUSED_FCNTLS, 1, errno.EPERM))
    program += _on_call(numbers["personality"], _allow_only(ALLOWED_PERSONALITIES, 0, errno.EPERM))
    return [*program, Instruction(RETURN, ALLOW)]


def compile_filter(
    families: tuple[int, ...], machine: str | None = None, *, processes: bool = False
) -> bytes:
    """Return the filter as the bytes that `bwrap --seccomp` reads.

    `families` are the socket families that `socket` may make; `machine` is what `uname -m` says;
    `processes` lets the program start others.
    """
    program = instructions(families, machine or platform.machine(), processes=processes)
    return b"".join(step.encode() for step in program)
