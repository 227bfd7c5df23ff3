"""What a client of an address is told of, and how much of its window that takes."""

from dataclasses import dataclass
from functools import cached_property
from math import ceil

from django.conf import settings
from django.contrib.auth.models import User
from django.utils.module_loading import import_string

from agents.bearer import Bearer
from agents.mcp.endpoint import Endpoint, endpoint_page, tools_of
from agents.mcp.wire import tools_wire
from agents.models import Agent
from config.lib.errors import DomainError
from config.lib.types import JsonObject
from registry.effects import annotations_of_each
from registry.scopes import MOST_SCOPES
from registry.specs import ToolSpec

REVISION = "2025-11-25"
"""How tools are written down for the counting."""

COUNTED = 100
"""Tools whose tokens are counted; of more the rest is worked out from these."""

MOST_COUNTED = 5_000
"""Tools that are counted at all; a longer list is said to have at least so many."""

_CALLED_BY_MODEL = ("name", "description", "inputSchema")
"""What clients put into a model's prompt of each tool."""


@dataclass(frozen=True, kw_only=True)
class Weight:
    """Tools of a list, and about how many tokens of a model's window they take; or `at_least`."""

    tools: int
    tokens: int
    at_least: bool = False


class Offered:
    """What a person's client is told of at an address; each part is read when it is asked for.

    `problem` says why there is no list, such as two tools with one name.
    """

    def __init__(self, user: User, agent: Agent | None) -> None:
        """Look at the address of an agent, or of the registry, as this person."""
        self._agent = agent
        self._endpoint = Endpoint(bearer=Bearer(user=user, scopes=None, key=""), agent=agent)
        self.problem = ""
        self._first: list[ToolSpec] = []
        self._more = False
        try:
            self._first, following = endpoint_page(self._endpoint, limit=COUNTED)
            self._more = bool(following)
        except DomainError as error:
            self.problem = f"{error.message} {error.hint}"

    @property
    def is_estimate(self) -> bool:
        """Say whether there are more tools than were counted."""
        return self._more

    @cached_property
    def readers(self) -> list[ToolSpec]:
        """Return those of the first tools that only read."""
        known = annotations_of_each(self._first)
        return [spec for spec, each in zip(self._first, known, strict=True) if each.read_only]

    @cached_property
    def scopes(self) -> list[str]:
        """Return the scopes that an agent's tools require, as many as a token may carry."""
        if self._agent is None:
            return []
        required = {scope for spec in self._first for scope in spec.required_scopes}
        return sorted(required)[:MOST_SCOPES]

    @cached_property
    def all(self) -> Weight:
        """Return what the list of all tools takes."""
        counted = _tokens(self._model, tools_wire(self._first, REVISION)) + self._code.tokens
        count = len(self._first)
        if self._more:
            count = self._count()
            counted = ceil(counted * count / len(self._first))
        at_least = count >= MOST_COUNTED
        return Weight(tools=count + self._code.tools, tokens=counted, at_least=at_least)

    @cached_property
    def progressive(self) -> Weight:
        """Return what the tools take that find and call the others."""
        # the SDK takes most of a second to import; a server has it by then
        from agents.mcp.meta import WIRE

        tokens = _tokens(self._model, [dict(tool) for tool in WIRE]) + self._code.tokens
        return Weight(tools=len(WIRE) + self._code.tools, tokens=tokens)

    @cached_property
    def _code(self) -> Weight:
        from agents.mcp.meta import code_of

        code = code_of(self._endpoint)
        if code is None:
            return Weight(tools=0, tokens=0)
        return Weight(tools=1, tokens=_tokens(self._model, tools_wire([code], REVISION)))

    @property
    def _model(self) -> str:
        return self._agent.model if self._agent else ""

    def _count(self) -> int:
        if self._agent is None:
            return tools_of(self._endpoint.bearer.user).order_by()[:MOST_COUNTED].count()
        count, cursor = 0, ""
        while True:
            page, cursor = endpoint_page(self._endpoint, cursor)
            count += len(page)
            if not cursor or count >= MOST_COUNTED:
                return count


def _tokens(model: str, tools: list[JsonObject]) -> int:
    count = import_string(settings.SCHEMA_TOKENS)
    return sum(count(model, {key: tool[key] for key in _CALLED_BY_MODEL}) for tool in tools)
