"""Discover, search and call the tools of an Outfitter, run its sequences, talk to its agents."""

from outfitter_client.aio import AsyncOutfitter
from outfitter_client.aio_handles import AsyncChat, AsyncRun, AsyncTurn
from outfitter_client.errors import (
    AuthenticationFailed,
    Conflict,
    ConnectionFailed,
    InputNeeded,
    InvalidRequest,
    ModelFailed,
    NotAllowed,
    NotFound,
    OutfitterError,
    RateLimited,
    RunFailed,
    ServerFault,
    TimedOut,
    ToolFailed,
)
from outfitter_client.handles import Chat, Run, Turn
from outfitter_client.shapes import Event, Found, Result, Tool, Toolset, Usage
from outfitter_client.sync import Outfitter
from outfitter_client.wire import Retry

__all__ = [
    "AsyncChat",
    "AsyncOutfitter",
    "AsyncRun",
    "AsyncTurn",
    "AuthenticationFailed",
    "Chat",
    "Conflict",
    "ConnectionFailed",
    "Event",
    "Found",
    "InputNeeded",
    "InvalidRequest",
    "ModelFailed",
    "NotAllowed",
    "NotFound",
    "Outfitter",
    "OutfitterError",
    "RateLimited",
    "Result",
    "Retry",
    "Run",
    "RunFailed",
    "ServerFault",
    "TimedOut",
    "Tool",
    "ToolFailed",
    "Toolset",
    "Turn",
    "Usage",
]
