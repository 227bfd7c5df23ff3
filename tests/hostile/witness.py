"""Somebody on the host who sees whether an attack got through."""

import os
import secrets
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from config.lib.types import JsonObject
from registry.sandbox.paths import service_uid
from tests.registry.sandbox.service import RunningService, open_folder

LISTEN_SECONDS = 0.1


@dataclass
class Witness:
    """Listens on every kind of socket, keeps a file anybody may read, and is a process to kill.

    The victim runs as the sandboxes' own user: no difference of users protects it.
    """

    folder: Path
    service: RunningService
    heard: list[str] = field(default_factory=list)
    told: JsonObject = field(default_factory=dict)
    secret: str = field(default_factory=lambda: f"canary-{secrets.token_hex(8)}")
    victim: "subprocess.Popen[bytes] | None" = None

    @property
    def canary(self) -> Path:
        """The file that must be neither read nor changed."""
        return self.folder / "canary"

    def check(self) -> None:
        """Fail when anything reached the host."""
        assert self.heard == []
        assert self.canary.read_text() == self.secret
        assert self.victim is not None
        assert self.victim.poll() is None, "the victim was killed"
        assert sorted(path.name for path in self.folder.iterdir()) == ["canary", "unix"]


@contextmanager
def running_witness(service: RunningService) -> Iterator[Witness]:
    """Start everything that an attack may aim at; all of it ends with the block."""
    with ExitStack() as stack:
        folder = stack.enter_context(open_folder())
        witness = Witness(folder, service)
        witness.canary.write_text(witness.secret)
        witness.canary.chmod(0o666)
        abstract = f"outfitter-{secrets.token_hex(4)}"
        witness.told = {
            "canary": str(witness.canary),
            "port": _listen(stack, witness, socket.AF_INET, ("127.0.0.1", 0))[1],
            "udp": _listen(stack, witness, socket.AF_INET, ("127.0.0.1", 0), udp=True)[1],
            "unix": str(folder / "unix"),
            "abstract": abstract,
            "store": str(service.folder / "store" / "artifacts"),
            "folder": str(service.folder),
            "socket": str(service.folder / "sandboxd.sock"),
        }
        _listen(stack, witness, socket.AF_UNIX, str(folder / "unix"))
        _listen(stack, witness, socket.AF_UNIX, f"\0{abstract}")
        witness.victim = stack.enter_context(_victim(witness.secret))
        witness.told["victim"] = witness.victim.pid
        yield witness


def _listen(
    stack: ExitStack, witness: Witness, family: int, address: object, *, udp: bool = False
) -> tuple[str, int]:
    """Listen, write down whoever comes, and return the address."""
    kind = socket.SOCK_DGRAM if udp else socket.SOCK_STREAM
    listener = stack.enter_context(socket.socket(family, kind))
    listener.bind(address)
    if isinstance(address, str) and not address.startswith("\0"):
        Path(address).chmod(0o777)
    if not udp:
        listener.listen()
    listener.settimeout(LISTEN_SECONDS)
    ended = threading.Event()

    def serve() -> None:
        while not ended.is_set():
            try:
                if udp:
                    listener.recvfrom(100)
                else:
                    listener.accept()[0].close()
            except TimeoutError:
                continue
            except OSError:
                return
            witness.heard.append(f"{family} {kind} {address!r}")

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    stack.callback(thread.join)
    stack.callback(ended.set)
    name: tuple[str, int] = listener.getsockname()
    return name


@contextmanager
def _victim(secret: str) -> "Iterator[subprocess.Popen[bytes]]":
    user = {"user": service_uid(), "group": service_uid(), "extra_groups": []}
    with subprocess.Popen(
        ["/bin/sleep", "100000"],
        env={"SECRET": secret},
        cwd="/",
        **(user if os.geteuid() == 0 else {}),
    ) as victim:
        try:
            yield victim
        finally:
            victim.kill()
