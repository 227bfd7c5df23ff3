"""The tools of one turn, told of or not: what is added, what gives way, what that takes."""

from collections.abc import Collection, Iterable
from threading import Lock
from uuid import UUID

from agents.models import Arm
from agents.models.agent import KEEPS_FOUND, SHOWS_LINKED, DiscoveryMode
from agents.registered import Registered
from chat.budget import tokens_of, tokens_of_schema
from chat.discovered import discovered_for, tools_discovered, tools_evicted, tools_used
from chat.models import Turn
from chat.telling import NO_ROOM, account_of, entry_of
from chat.visible import Origin, Shown, Visible
from config.lib.types import JsonObject
from registry.context import CallContext
from registry.specs import ToolSpec
from registry.toolset import NameClash


class Offered:
    """Keeps what the model is told of within the agent's budget, and what was found in the rows.

    `untold` are linked tools and earlier finds that may not be told of, as entries of the panel;
    `deferred` linked tools for which there is no room, or which the mode hides.
    """

    def __init__(
        self, turn: Turn, context: CallContext, arm: Arm | None, fixed: Iterable[JsonObject]
    ) -> None:
        agent = turn.conversation.agent
        self._turn = turn
        self._lock = Lock()
        self._mode = DiscoveryMode((arm or agent).discovery_mode)
        self._hidden: dict[UUID, int] = {}
        self._evicted: list[Shown] = []
        self._unkept: list[tuple[list[UUID], list[UUID]]] = []
        self.registered = Registered(agent, context, arm)
        self.untold = [
            entry_of(tool.wire_name, tool.title, reason)
            for tool, reason in self.registered.unloaded
        ]
        taken = sum(tokens_of_schema(turn.model, schema) for schema in fixed)
        self.visible = Visible(budget=agent.schema_budget, fixed=taken)
        self.deferred: list[Shown] = []
        self._take_linked()
        if self._mode != DiscoveryMode.LINKED:
            self._take_found()

    def add(self, specs: Iterable[ToolSpec]) -> dict[UUID, str]:
        """Tell the model of finds of this turn, in their order; return why not, where it is so.

        `keep` writes them down.
        """
        problems: dict[UUID, str] = {}
        added: list[UUID] = []
        gone: list[UUID] = []
        with self._lock:
            for spec in specs:
                if self.visible.get(spec.tool_id):
                    continue  # found by another search at the same time
                shown = self._shown(spec, Origin.FOUND, self._turn.number)
                try:
                    done = self.visible.plus(shown)
                except NameClash as clash:
                    problems[spec.tool_id] = clash.message
                    continue
                if done is None:
                    problems[spec.tool_id] = NO_ROOM
                    self._hidden[spec.tool_id] = shown.tokens
                    continue
                self.visible, evicted = done
                self._hidden.pop(spec.tool_id, None)
                self._evicted += evicted
                self._hidden |= {each.spec.tool_id: each.tokens for each in evicted}
                self._evicted = [e for e in self._evicted if e.spec.tool_id != spec.tool_id]
                added.append(spec.tool_id)
                gone += [each.spec.tool_id for each in evicted]
            if added:
                self._unkept.append((added, gone))
        return problems

    def keep(self) -> None:
        """Keep in the rows what was found since the last time."""
        with self._lock:
            unkept, self._unkept = self._unkept, []
            for added, gone in unkept:
                tools_discovered(self._turn, added, gone)

    def use(self, tool_ids: Collection[UUID]) -> None:
        """Note that the turn found again, or calls, what was found before."""
        with self._lock:
            told = (self.visible.get(tool_id) for tool_id in tool_ids)
            stale = frozenset(
                each.spec.tool_id
                for each in told
                if each and each.origin != Origin.LINKED and each.used_in < self._turn.number
            )
            if stale:
                self.visible = self.visible.used(stale, self._turn.number)
                tools_used(self._turn, stale)

    def pass_over(self, specs: Iterable[ToolSpec]) -> None:
        """Count candidates that are not told of among what is saved."""
        for spec in specs:
            if not self.visible.get(spec.tool_id):
                self._hidden[spec.tool_id] = self.tokens(spec, found=True)

    def tokens(self, spec: ToolSpec, *, found: bool) -> int:
        """Return what a tool's schema takes; one that was found brings its guidance along."""
        return tokens_of(self._turn.model, spec, guided=found)

    def account(self) -> JsonObject:
        """Return what is told of and what that takes, as `chat.telling.account_of` does."""
        with self._lock:
            deferred = [e for e in self.deferred if not self.visible.get(e.spec.tool_id)]
            return account_of(
                self.visible, hidden=self._hidden, deferred=deferred, evicted=self._evicted
            )

    def _take_linked(self) -> None:
        linked = [
            self._shown(spec, Origin.LINKED) for _, spec in sorted(self.registered.linked.items())
        ]
        if self._mode in SHOWS_LINKED:
            self.visible, self.deferred = self.visible.linked(linked)
        else:
            self.deferred = linked
        self._hidden |= {each.spec.tool_id: each.tokens for each in self.deferred}

    def _take_found(self) -> None:
        """Tell of what was found before: by the conversation, or by this turn until it paused."""
        told = discovered_for(self._turn, kept=self._mode in KEEPS_FOUND)
        read = told.values_list("tool_id", "found_in_id", "used_in", named=True)
        rows = [row for row in read if not self.visible.get(row.tool_id)]
        if not rows:
            return
        specs, problems = self.registered.kept([row.tool_id for row in rows])
        self.untold += [
            entry_of(tool.wire_name, tool.title, reason, judged=True) for tool, reason in problems
        ]
        names = set(self.visible.toolset)
        kept = []
        for row in rows:
            spec = specs.get(row.tool_id)
            if spec is None or spec.wire_name in names:  # a linked tool may have taken its name
                continue
            names.add(spec.wire_name)
            origin = Origin.FOUND if row.found_in_id == self._turn.pk else Origin.KEPT
            kept.append(self._shown(spec, origin, row.used_in))
        self.visible, gone = self.visible.kept(kept)
        for each in kept:
            self._hidden.pop(each.spec.tool_id, None)
        if gone:
            self._evicted += gone
            self._hidden |= {each.spec.tool_id: each.tokens for each in gone}
            tools_evicted(self._turn, [each.spec.tool_id for each in gone])

    def _shown(self, spec: ToolSpec, origin: Origin, used_in: int = 0) -> Shown:
        tokens = self.tokens(spec, found=origin != Origin.LINKED)
        return Shown(spec=spec, origin=origin, tokens=tokens, used_in=used_in)
