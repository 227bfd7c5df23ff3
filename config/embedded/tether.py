"""Run a command that cannot outlive its parent.

Run as `python -I -S tether.py PARENT SIGNAL ACCOUNT COMMAND...`, where PARENT is the process id
that the command is tied to, SIGNAL the number it is sent when that parent ends (however it ends).
ACCOUNT is one of
`-`              run the command in place of this process;
`guard`          stay and pass signals on: the kernel forgets the tie when a process changes its
                 user, so a command that gives up root needs a guard that does not;
`uid:gid:reach`  run it as that user; `reach` 1 keeps the right to pass closed folders
                 (CAP_DAC_OVERRIDE), so that a project in root's home works without opening that
                 home to everybody.

Standard library only: it runs before any package is found, in some ten milliseconds.
"""

import ctypes
import os
import signal
import sys
from types import FrameType

# From <linux/prctl.h> and <linux/capability.h>.
PR_SET_PDEATHSIG = 1
PR_SET_KEEPCAPS = 8
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_RAISE = 2
CAPABILITY_VERSION_3 = 0x20080522
CAP_DAC_OVERRIDE = 1


def become(account: str) -> None:
    """Change to the user `uid:gid:reach`."""
    uid, gid, reach = (int(part) for part in account.split(":"))
    if reach:
        prctl(PR_SET_KEEPCAPS, 1)
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)
    if reach:
        keep_reach()


def keep_reach() -> None:
    """Keep CAP_DAC_OVERRIDE, and nothing else, over the coming exec."""
    mask = 1 << CAP_DAC_OVERRIDE
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    # Two sets (low and high half) of effective, permitted, inheritable.
    data = (ctypes.c_uint32 * 6)(mask, mask, mask, 0, 0, 0)
    if libc().capset(header, data) != 0:
        raise OSError(ctypes.get_errno(), "capset")
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_OVERRIDE)


def tie_to(parent: int, number: int) -> None:
    """Have the kernel send signal `number` when `parent` ends. Must follow any change of user."""
    if sys.platform == "linux":
        prctl(PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        sys.exit("tether: the parent has already ended")


def prctl(option: int, first: int, second: int = 0) -> None:
    """Call prctl(2)."""
    if libc().prctl(option, first, second, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {option}")


def libc() -> ctypes.CDLL:
    """Return the C library."""
    return ctypes.CDLL(None, use_errno=True)


def guard(command: list[str]) -> int:
    """Run the command as a child; pass on what tells it to stop, and return its exit status."""
    passed = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, passed)  # none ends it without the child
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.execvp(command[0], command)  # noqa: S606

    def pass_on(number: int, _frame: FrameType | None) -> None:
        os.kill(child, number)

    for number in passed:
        signal.signal(number, pass_on)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def main() -> None:
    """Tie this process to its parent and run the command."""
    parent, number, account, *command = sys.argv[1:]
    guarded = account == "guard"
    if not guarded and account != "-":
        become(account)
    tie_to(int(parent), int(number))
    if guarded:
        sys.exit(guard(command) & 0xFF)
    os.execvp(command[0], command)  # noqa: S606


if __name__ == "__main__":
    main()
