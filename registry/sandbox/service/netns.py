"""Make a listener inside a sandbox's network, without anything of ours running there.

A short-lived child of the service enters the sandbox's user and network namespaces, opens the
listener and hands it back (SCM_RIGHTS). It is forked, not started: entering a user namespace takes
a process with a single thread, and the service's user may not be able to read the interpreter.
"""

import asyncio
import contextlib
import ctypes
import errno
import fcntl
import os
import signal
import socket
from pathlib import Path
from typing import NoReturn

from registry.sandbox.service.errors import ServiceError

PROXY_HOST, PROXY_PORT = "127.0.0.1", 3128

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
# ioctl: the user namespace that owns a namespace (`linux/nsfs.h`).
NS_GET_USERNS = 0xB701
# Of `linux/in.h`: bind before bubblewrap has brought the loopback interface up.
IP_FREEBIND = 15
BACKLOG = 64
HELPER_SECONDS = 10.0
HANDED_OVER = b"ok"

# Loaded now: once root is given up, nothing may be importable any more.
LIBC = ctypes.CDLL(None, use_errno=True)

FIX = (
    "Let the sandbox's user enter the namespaces it made (setns). In a container, start it with "
    "--security-opt seccomp=unconfined; tools without network work all the same"
)


async def listener_inside(pid: int, parent: int) -> socket.socket:
    """Return a listener at the proxy's address in the network of process `pid`.

    `parent` is bubblewrap's own process id: a number that meanwhile belongs to another process is
    told by it. Raises `ServiceError` (`sandbox_unavailable`) when it cannot be made.
    """
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with ours:
        with theirs:
            child = os.fork()
            if child == 0:
                _hand_over(pid, parent, theirs)
        try:
            async with asyncio.timeout(HELPER_SECONDS):
                await _readable(ours)
            said, descriptors, _, _ = socket.recv_fds(ours, 200, 1)
        except TimeoutError:
            said, descriptors = b"no answer in time", []
        finally:
            # It has ended by itself, or it hangs; either way nothing is left of it.
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    if not descriptors:
        why = said.decode("utf-8", "replace") or "the helper ended without a word"
        message = f"The sandbox's network could not be entered ({why})."
        raise ServiceError("sandbox_unavailable", message, f"Mend it: {FIX}.")
    listener = socket.socket(fileno=descriptors[0])
    listener.setblocking(False)
    return listener


async def _readable(connection: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()

    def wake() -> None:
        if not ready.done():
            ready.set_result(None)

    loop.add_reader(connection, wake)
    try:
        await ready
    finally:
        loop.remove_reader(connection)


def _hand_over(pid: int, parent: int, out: socket.socket) -> NoReturn:
    """Be the child: whatever happens, it ends here."""
    try:
        try:
            with _listener_of(pid, parent) as listener:
                socket.send_fds(out, [HANDED_OVER], [listener.fileno()])
        except OSError as error:
            out.send(str(error.strerror or error).encode()[:200])
    finally:
        os._exit(0)


def _listener_of(pid: int, parent: int) -> socket.socket:
    network = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    _require_child(pid, parent)
    # bubblewrap nests user namespaces (`--disable-userns`): the outer one owns the network.
    owner = fcntl.ioctl(network, NS_GET_USERNS)
    for namespace, kind in ((owner, CLONE_NEWUSER), (network, CLONE_NEWNET)):
        if LIBC.setns(namespace, kind) != 0:
            number = ctypes.get_errno()
            raise OSError(number, f"setns: {os.strerror(number)}")
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.IPPROTO_IP, IP_FREEBIND, 1)
    listener.bind((PROXY_HOST, PROXY_PORT))
    listener.listen(BACKLOG)
    return listener


def _require_child(pid: int, parent: int) -> None:
    after_name = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2]
    if int(after_name.split()[1]) != parent:
        raise OSError(errno.ESRCH, os.strerror(errno.ESRCH))
