"""Govern packages, tools and what was called, in the Django admin."""

from registry.admin import packages, proposals, records, sync, tools

__all__ = ["packages", "proposals", "records", "sync", "tools"]
