"""`manage.py api_token USER [--scope S]`."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError

from agents.tokens import SCOPES, token_create
from config.lib.errors import DomainError


class Command(BaseCommand):
    """Make a personal API token and print it alone on the last line."""

    help = "Make a personal API token; it is printed alone on the last line, once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the person and the scopes."""
        parser.add_argument("user", help="username")
        parser.add_argument("--name", default="manage.py api_token")
        parser.add_argument(
            "--scope",
            action="append",
            default=[],
            help=f"limit the token (repeatable); none: all that the person may do. One of "
            f"{', '.join(SCOPES)}, or one that a tool requires",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        """Make the token."""
        user = User.objects.filter(username=options["user"], is_active=True).first()
        if user is None:
            raise CommandError(f"There is no active user “{options['user']}”.")
        try:
            _token, text = token_create(user, name=options["name"], scopes=options["scope"])
        except DomainError as error:
            raise CommandError(f"{error.message} {error.hint}") from error
        self.stdout.write(text)
