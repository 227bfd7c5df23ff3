"""Outfitter as an OAuth 2.1 authorization server, by django-oauth-toolkit's extension points."""
