"""A classic BPF interpreter, as much of it as a seccomp filter uses."""

import struct

from registry.sandbox.service import seccomp


def verdict(program: bytes, *, audit: int, number: int, arguments: tuple[int, ...] = ()) -> int:
    """Run a filter on one system call; returns what the kernel would do with it."""
    padded = (*arguments, *(0,) * (6 - len(arguments)))
    data = struct.pack("<IIQ6Q", number, audit, 0, *padded)
    steps = [struct.unpack_from("<HBBI", program, at) for at in range(0, len(program), 8)]
    accumulator, position = 0, 0
    while True:
        code, if_true, if_false, operand = steps[position]
        position += 1
        if code == seccomp.RETURN:
            return int(operand)
        if code == seccomp.LOAD_WORD:
            (accumulator,) = struct.unpack_from("<I", data, operand)
            continue
        holds = {
            seccomp.JUMP_EQUAL: accumulator == operand,
            seccomp.JUMP_AT_LEAST: accumulator >= operand,
            seccomp.JUMP_ANY_BIT: bool(accumulator & operand),
        }[code]
        position += if_true if holds else if_false
