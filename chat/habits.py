"""What a model does again and again in a turn, and when that is enough."""

import json
from collections import Counter
from collections.abc import Sequence

from chat.errors import ModelLoops, TooManyMalformedCalls
from chat.llm import ToolCallReady
from registry.errors import InvalidArguments

MOST_MALFORMED = 3
"""Steps in a row in which every call of a tool has arguments that do not fit; then it is over."""

REPEATED = 3
"""The call, with the same arguments, that is not run any more."""

MOST_REPEATED = 6
"""The call, with the same arguments, that ends the turn."""

LONGEST_QUOTE = 500

Step = Sequence[tuple[ToolCallReady, str]]
"""The calls of one message, each with the answer that the model read."""


class Habits:
    """Counts the calls of a turn. `past` are the steps before this one, of a turn taken up."""

    def __init__(self, past: Sequence[Step] = ()) -> None:
        self._made: Counter[str] = Counter()
        self._answers: dict[str, str] = {}
        self._malformed: Counter[str] = Counter()
        self._fits: dict[str, bool] = {}
        for step in past:
            for call, _ in step:
                self.repeated(call)
            for call, answer in step:
                self.answered(call, answer)
            self._end_step()

    def repeated(self, call: ToolCallReady) -> str:
        """Count a call; return what the model is told instead of running it, or nothing.

        A call that was malformed is not counted against: what is wrong with it is told each time.
        """
        key = _key(call)
        self._made[key] += 1
        answer = self._answers.get(key, "")
        if self._made[key] < REPEATED or is_malformed(answer):
            return ""
        result = f"Its result was: {answer[:LONGEST_QUOTE]}" if answer else "It is under way."
        return (
            f"This very call was made {self._made[key] - 1} times in this turn, so it was not made "
            f"again. {result}"
        )

    def answered(self, call: ToolCallReady, answer: str) -> None:
        """Note what came of a call, in the words that the model reads."""
        key, fits = _key(call), not is_malformed(answer)
        if self._made[key] < REPEATED or not fits:
            self._answers[key] = answer  # a note about it is no result of it
        self._fits[call.name] = self._fits.get(call.name, False) or fits

    def end_step(self) -> None:
        """End a message's calls; raises TooManyMalformedCalls or ModelLoops."""
        self._end_step()
        if any(count >= MOST_MALFORMED for count in self._malformed.values()):
            raise TooManyMalformedCalls
        if any(count >= MOST_REPEATED for count in self._made.values()):
            raise ModelLoops

    def _end_step(self) -> None:
        for name, fits in self._fits.items():
            self._malformed[name] = 0 if fits else self._malformed[name] + 1
        self._fits.clear()


def is_malformed(answer: str) -> bool:
    """Tell whether an answer says that the arguments were no JSON, or did not fit the schema."""
    if InvalidArguments.code not in answer:
        return False
    try:
        error = json.loads(answer).get("error") or {}
    except ValueError:
        return False
    is_ours = error.get("code") == InvalidArguments.code
    return is_ours and error.get("extra", {}).get("phase") == InvalidArguments.phase


def _key(call: ToolCallReady) -> str:
    """Return the same text for the same call, however its arguments are written."""
    try:
        arguments = json.dumps(json.loads(call.arguments or "{}"), sort_keys=True)
    except (ValueError, RecursionError):
        arguments = call.arguments
    return f"{call.name} {arguments}"
