"""Messages that no tool helps with, by kind, and short requests; half held out from fitting."""

from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).with_name("no_answer.txt")
FRESH = Path(__file__).with_name("no_answer_fresh.txt")
SHORT = Path(__file__).with_name("short_requests.txt")


class Message(NamedTuple):
    """One message; `held_out` ones are for measuring alone."""

    kind: str
    text: str
    held_out: bool


def messages() -> list[Message]:
    """Return all messages in the order of the file."""
    return [each._replace(held_out=place % 2 == 1) for each, place in _read(FILE)]


def fresh_messages() -> list[Message]:
    """Return messages that were written when all was fitted, and never fitted."""
    return [each for each, _ in _read(FRESH)]


def _read(file: Path) -> list[tuple[Message, int]]:
    """Return the messages of a file, each with its place among those of its kind."""
    found: list[tuple[Message, int]] = []
    kind, place = "", 0
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("[") and line.endswith("]"):
            kind, place = line[1:-1], 0
        elif line and not line.startswith("#"):
            found.append((Message(kind, line, held_out=True), place))
            place += 1
    return found


def short_requests() -> list[Message]:
    """Return requests of a few words, in the order of their file."""
    lines = SHORT.read_text(encoding="utf-8").splitlines()
    texts = [line for line in lines if line and not line.startswith("#")]
    return [Message("short", text, place % 2 == 1) for place, text in enumerate(texts)]
