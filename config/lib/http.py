"""Names for what views receive."""

from django.contrib.auth.models import User
from django.http import HttpRequest


class SignedInRequest(HttpRequest):
    """A request behind `login_required`: somebody is signed in."""

    user: User
