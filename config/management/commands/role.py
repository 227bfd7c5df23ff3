"""`manage.py role USER governor|auditor|owner`."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError

from registry.roles import Role, role_give


class Command(BaseCommand):
    """Give a person a role."""

    help = "Give a person a role: governor, auditor or owner."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the person and the role."""
        parser.add_argument("user", help="username")
        parser.add_argument("role", choices=[role.value for role in Role])
        parser.add_argument("--reason", default="", help="why; kept in the audit")

    def handle(self, *_: Any, **options: Any) -> None:
        """Set the person's groups, and whether they may enter the admin."""
        user = User.objects.filter(username=options["user"], is_active=True).first()
        if user is None:
            raise CommandError(f"There is no active user “{options['user']}”.")
        role_give(user, Role(options["role"]), reason=options["reason"])
        place = "may enter the admin" if user.is_staff else "may not enter the admin"
        self.stdout.write(f"{user.username} is now {options['role']} and {place}.")
