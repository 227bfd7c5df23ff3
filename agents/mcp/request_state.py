"""What a client of the 2026-07-28 era carries from a question to its answer: sealed, bound, short.

The SDK seals it (AES-256-GCM) and binds it to the method, the tool, the digest of its arguments,
the server, an expiry, and to who came: here the person, their client and the address. An answer
that lets a call through counts once.
"""

import json
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self
from uuid import UUID, uuid4

import mcp_types as types
from django.conf import settings
from django.core.cache import cache
from mcp.server.context import ServerRequestContext
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError

from agents.mcp.visits import visit_of
from registry.specs import ToolSpec

ASK_SECONDS = 1_800
"""How long a question waits for its answer."""

AUDIENCE = "outfitter-mcp"

ANSWER = "answer"
"""What a question is called that has no name of its own."""

Asked = Literal["", "approval", "run", "page", "program"]
"""What was asked: to let the call run, what its run asks, to go to a page and do it there, or what
the calls of its program need."""


@dataclass(frozen=True, kw_only=True)
class CallState:
    """How far a call has come that a person was asked about.

    `call_id` names it however often it is made, `asked` is what was asked last. `approved` says
    that a person let it through; `run` is the run that it began and `request` what that asks.
    `key` is the question's name, under which its answer comes, and `page` where it can be answered
    besides. `problem` says what was wrong with the last answer,
    `tries` how many were.
    """

    call_id: str
    tool: str
    version: int
    asked: Asked = ""
    approved: bool = False
    run: str = ""
    request: str = ""
    key: str = ANSWER
    page: str = ""
    problem: str = ""
    tries: int = 0

    @classmethod
    def new(cls, spec: ToolSpec) -> Self:
        """Return the state of a call that is made for the first time."""
        return cls(call_id=uuid4().hex, tool=str(spec.tool_id), version=spec.version)

    @classmethod
    def of(cls, text: str | None, spec: ToolSpec) -> Self:
        """Return the state that a client brought back, as the SDK unsealed it.

        The call begins anew where the tool has changed since a person was asked about it. Raises
        MCPError where the state is none of ours.
        """
        if text is None:
            return cls.new(spec)
        try:
            state = cls(**json.loads(text))
        except (ValueError, TypeError):
            raise refused_state() from None
        if state.tool != str(spec.tool_id):
            raise refused_state()
        return state if state.run or state.version == spec.version else cls.new(spec)

    @property
    def begun(self) -> UUID | None:
        """Return the run that the call goes on with."""
        return UUID(self.run) if self.run else None

    def text(self) -> str:
        """Return the state as the client is given it, once the SDK has sealed it."""
        return json.dumps(asdict(self))


def take_once(state: CallState) -> None:
    """Take an answer that lets a call through; raise MCPError when it was taken before.

    That is an approval, the answers to a program, and all that is answered to a call which was
    approved before: its state would let it through again and again. Whoever answers a run twice
    only follows it.
    """
    if state.asked not in ("approval", "program") and (state.run or not state.approved):
        return
    name = f"mcp-answer:{state.call_id}:{state.asked}:{state.request}:{state.tries}"
    if not cache.add(name, 1, ASK_SECONDS):
        raise refused_state()


def refused_state() -> MCPError:
    """Return the error that the SDK answers with, too: it does not say what is wrong."""
    return MCPError(
        code=types.INVALID_PARAMS,
        message="Invalid or expired requestState",
        data={"reason": "invalid_request_state"},
    )


def boundary() -> RequestStateBoundary:
    """Return the middleware of the server that seals and opens what clients carry."""
    keys = list(dict.fromkeys(settings.ENCRYPTION_KEYS))
    security = RequestStateSecurity(keys=keys, ttl=ASK_SECONDS, bind_principal=_principal)
    return RequestStateBoundary(security, default_audience=AUDIENCE)


def _principal(ctx: ServerRequestContext[Any, Any]) -> str:
    endpoint = visit_of(ctx).endpoint
    bearer, agent = endpoint.bearer, endpoint.agent
    return json.dumps([bearer.user.pk, bearer.client_id, str(agent.pk) if agent else ""])
