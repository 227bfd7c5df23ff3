"""Names for what views receive."""

from django.contrib.auth.models import User
from django.http import HttpRequest
from rest_framework.request import Request


class SignedInRequest(HttpRequest):
    """A request behind `login_required`: somebody is signed in."""

    user: User


class SignedInApiRequest(Request):
    """An API request that has passed IsAuthenticated: somebody is signed in."""

    user: User
