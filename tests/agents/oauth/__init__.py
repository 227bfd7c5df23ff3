"""Outfitter as an authorization server."""
