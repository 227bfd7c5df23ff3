"""Whoever calls the REST API in a test."""

from typing import Any

from django.contrib.auth.models import User

from agents.tokens import token_create


def by(user: User, *scopes: str) -> dict[str, Any]:
    """Return what a test client sends along to come as this person, with these scopes or all."""
    text = token_create(user, name="script", scopes=scopes)[1]
    return {"headers": {"Authorization": f"Bearer {text}"}}
