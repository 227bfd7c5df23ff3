"""Govern packages, tools and what was called, in the Django admin."""

from registry.admin import packages, proposals, records, tools

__all__ = ["packages", "proposals", "records", "tools"]
