"""Names for what API views receive."""

from django.contrib.auth.models import User
from rest_framework.request import Request


class SignedInApiRequest(Request):
    """A request that has passed IsAuthenticated: somebody is signed in."""

    user: User
