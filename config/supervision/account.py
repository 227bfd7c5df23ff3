"""The first account."""

import secrets

from django.contrib.auth import get_user_model

USERNAME = "admin"


def create_admin(password: str | None) -> str | None:
    """Create the superuser `admin` unless there is one of that name.

    With no password one is generated and returned, the only time it can be read; otherwise the
    answer is None.
    """
    users = get_user_model()
    if users.objects.filter(username=USERNAME).exists():
        return None
    chosen = password or secrets.token_urlsafe(12)
    users.objects.create_superuser(username=USERNAME, email="", password=chosen)
    return None if password else chosen
