#!/usr/bin/env python
"""Django's command line, with the embedded services running for the commands that need them."""

import os
import sys

WITHOUT_SERVICES = {
    *("help", "version", "check", "diffsettings", "findstatic", "collectstatic"),
    *("makemessages", "compilemessages", "startapp", "startproject"),
    "eval_search",
    "doctor",  # reports what is not running instead of starting it
    "validate_manifest",
    "up",  # starts them itself, after its checks, and says so
}
"""The commands that touch neither PostgreSQL nor Redis, or that see to them themselves."""


def needs_services(arguments: list[str]) -> bool:
    """Return whether the command that these arguments name uses PostgreSQL or Redis."""
    asks_for_help = bool({"-h", "--help", "--version"} & set(arguments))
    return bool(arguments) and not asks_for_help and arguments[0] not in WITHOUT_SERVICES


def main() -> None:
    """Run the command that the arguments name."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        from django.core.management import execute_from_command_line
    except ImportError as error:
        sys.exit(f"{error}. Run `make venv`, then .venv/bin/python manage.py …")
    from config import embedded
    from config.lib.changes import changing, operator

    try:
        if needs_services(sys.argv[1:]):
            embedded.ensure()
        with changing(source="command", actor=operator, path=" ".join(sys.argv[1:2])):
            execute_from_command_line(sys.argv)
    except embedded.EmbeddedServiceError as error:
        sys.exit(str(error))
    finally:
        embedded.stop()


if __name__ == "__main__":
    main()
