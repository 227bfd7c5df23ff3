"""Keep the values that a conversation's tools may read out of everything that is said in it."""

from threading import Lock

from chat.models import Conversation
from chat.variables import known_in
from config.lib.masking import SHORTEST_RECODED, Masker


class Secrecy:
    """The values known in one turn; one that is taken away during the turn is still masked.

    Values shorter than `SHORTEST_RECODED` are left alone here: a setting such as `west` would
    blot out words. Where the tool that received them gives them back, `invoke` masks them.
    """

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self._lock = Lock()
        self._known: frozenset[str] = frozenset()
        self.masker = Masker(())

    def look(self) -> Masker:
        """Read anew what there is to keep, and return what masks it."""
        values = {value for value in known_in(self.conversation) if len(value) >= SHORTEST_RECODED}
        with self._lock:
            if not values <= self._known:
                self._known |= values
                self.masker = Masker(self._known)
            return self.masker
