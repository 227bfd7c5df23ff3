"""Whole OAuth flows against the running product."""
