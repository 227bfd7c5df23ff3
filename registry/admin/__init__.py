"""Govern packages, tools and what was called, in the Django admin."""

from registry.admin import audit, events, packages, people, proposals, records, search, sync, tools

__all__ = [
    "audit",
    "events",
    "packages",
    "people",
    "proposals",
    "records",
    "search",
    "sync",
    "tools",
]
