"""Govern packages, tools and what was called, in the Django admin."""

from registry.admin import packages, records, sync, tools

__all__ = ["packages", "records", "sync", "tools"]
