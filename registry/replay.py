"""A program that waits for a person: what is kept of it, and from what it is run again.

A program cannot be kept half-run: a sandbox that waits for hours is a sandbox less. So it is ended
and run again from its start once the person has answered: calls that it had made give what they
gave (`recorded`), those that a person decided on run as decided (`decided`), and its clock and its
chance are those of the first run, so that it takes the same way. Nothing here knows a database.

How the chat uses it (through `chat.replaying`, which is all that it calls):

1. `context.derive(replay=replay_of(turn, call_id))` for a call of `run_code`: the program may be
   paused. Without `replay`, an inner call that waits for a person fails as it always did.
2. `invoke` gives `Failed(error=ProgramPaused(...), details={"invocation", "calls", "pause"})`, and
   no invocation row. `details["pause"]` is `Pause.as_dict()`.
3. `keep(turn, call_id, failed)` writes the recorded calls and returns `Pause.pending`: one
   `InputRequest` each, with `inner_call = pending.key` and `pending.error` as what is asked.
4. When all are answered, 1 again.
"""

import hashlib
import json
import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from threading import Lock
from typing import Self
from uuid import UUID, uuid4

from config.lib.types import JsonObject


@dataclass(frozen=True, kw_only=True)
class RecordedCall:
    """A call that ended before the program was paused.

    `key` names it among the calls of the program (`Keys`), `number` is its place from 1 on, `tool`
    its wire name. `outcome` is `{"output": …}` or `{"error": {code, message, hint, extra}}`;
    `invocation` the id of its row, if it got one.
    """

    key: str
    number: int
    tool: str
    outcome: JsonObject
    invocation: str | None = None
    duration_ms: int = 0


@dataclass(frozen=True, kw_only=True)
class PendingCall:
    """A call that waits for a person; `error` is `{code, message, hint, extra}` of what it needs:
    `approval_required` (`extra.reason`), `missing_credential` (`extra.missing`, the names) or
    `question_asked` (`extra.question`, `extra.options`).

    `tool_id` is None for a question, which no tool asks; `title` and `schema` are the tool's.
    """

    key: str
    number: int
    tool: str
    tool_id: str | None
    arguments: JsonObject
    error: JsonObject
    title: str = ""
    schema: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Start:
    """What a program begins with: the same in every run, so that it takes the same way.

    `invocation` is the id that all its runs have, `seed` what chance comes from, `clock` the time
    of the first run, in seconds since 1970.
    """

    invocation: str
    seed: int
    clock: float

    @classmethod
    def new(cls) -> Self:
        """Return the start of a program that never ran."""
        return cls(invocation=str(uuid4()), seed=secrets.randbits(62), clock=time.time())


@dataclass(frozen=True, kw_only=True)
class Pause:
    """A program that was ended because some of its calls wait for a person."""

    start: Start
    calls: tuple[RecordedCall, ...]
    pending: tuple[PendingCall, ...]

    def as_dict(self) -> JsonObject:
        """Return `{start, calls, pending}` for JSON."""
        told: JsonObject = json.loads(json.dumps(asdict(self)))
        return told

    @classmethod
    def of(cls, told: JsonObject) -> Self:
        """Return what `as_dict` told."""
        return cls(
            start=Start(**told["start"]),
            calls=tuple(RecordedCall(**call) for call in told["calls"]),
            pending=tuple(PendingCall(**call) for call in told["pending"]),
        )


@dataclass(frozen=True, kw_only=True)
class Decided:
    """What a person said to a call of a program.

    `approved` is None where nobody was asked to approve it; `arguments` are theirs in place of the
    program's, `note` why it was denied. `skipped`: they gave no credential, or no answer. `answer`
    is what they said to a question. A credential that was set is only that: the call is made again.
    """

    approved: bool | None = None
    arguments: JsonObject | None = None
    note: str = ""
    skipped: bool = False
    answer: str | None = None


Sink = Callable[[str, RecordedCall | None], None]
"""Keeps a call under its key: as cut off when it begins, as what it gave when it has ended; None
forgets one that waits."""


def kept_nowhere(key: str, call: RecordedCall | None) -> None:
    """Keep nothing: a program that was not paused yet has nothing that must not be done twice."""


@dataclass(frozen=True, kw_only=True)
class Replay:
    """From what a program is run; with an empty log it is its first run.

    What it calls after a pause goes to `sink` at once: its process may die.
    """

    start: Start = field(default_factory=Start.new)
    recorded: Mapping[str, RecordedCall] = field(default_factory=dict)
    decided: Mapping[str, Decided] = field(default_factory=dict)
    sink: Sink = kept_nowhere

    @property
    def invocation_id(self) -> UUID:
        """The id of the invocation that all runs of this program are one of."""
        return UUID(self.start.invocation)


class Keys:
    """Names the calls of one run: what is called with what, and which of several equal ones it is.

    So calls that are made side by side are told apart in whichever order they come.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._seen: Counter[str] = Counter()

    def next(self, tool: str, arguments: JsonObject) -> str:
        """Return the key of the call that is made now."""
        digest = digest_of(tool, arguments)
        with self._lock:
            self._seen[digest] += 1
            return f"{digest}#{self._seen[digest]}"


def inner_call_id(call_id: str, key: str) -> str:
    """Return the name of a program's call in its turn, the same in every run of the program."""
    return hashlib.sha256(f"{call_id}/{key}".encode()).hexdigest()[:40]


def digest_of(tool: str, arguments: JsonObject) -> str:
    """Return the digest of a call; the order of the arguments does not matter."""
    told = json.dumps([tool, arguments], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(told.encode()).hexdigest()[:40]
