"""`manage.py validate_manifest`."""

import json
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from registry.manifest.findings import Problem
from registry.manifest.jsonfile import MOST_BYTES, NotJson
from registry.manifest.judging import Judgement, judge_text, judgement_shape


class Command(BaseCommand):
    """Say what is wrong with a package.json's “tpmjs” field, and what tools come of it."""

    help = (
        "Say what tools come of a package.json (or just its “tpmjs” field), and what is wrong with "
        "it at which line. Exit status 1 when it is not valid. Needs neither database nor network."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the file and the form of the answer."""
        parser.add_argument("file", metavar="FILE", help="a package.json, or - for standard input")
        parser.add_argument("--json", action="store_true", help="print the answer as JSON")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Judge the file; raises CommandError where it is not valid."""
        name = options["file"]
        try:
            judged = judge_text(read(name))
        except NotJson as error:
            raise CommandError(f"{_named(name)}: {error.message} {error.hint}") from None
        if options["json"]:
            self.stdout.write(json.dumps(judgement_shape(judged), ensure_ascii=False, indent=2))
        else:
            self._tell(judged, _named(name))
        if not judged.is_valid:
            wrong = sum(item.severity == "error" for item in judged.problems)
            raise CommandError(f"{_named(name)} has {wrong} error{'s' if wrong != 1 else ''}.")

    def _tell(self, judged: Judgement, name: str) -> None:
        for problem in [*judged.problems, *judged.advice]:
            self.stdout.write(self._line(judged, problem, name))
        because = ", ".join(judged.manifest.rich_because)
        told = f" (it tells {because})" if because else ""
        self.stdout.write(f"Tier: {judged.manifest.tier.value}{told}")
        for tool in judged.manifest.tools:
            takes = ", ".join((tool.input_schema or {}).get("properties", {})) or "nothing declared"
            self.stdout.write(f"  {tool.export}: takes {takes}")
        if judged.is_valid:
            self.stdout.write(self.style.SUCCESS(f"{name} is valid."))

    def _line(self, judged: Judgement, problem: Problem, name: str) -> str:
        style = {"error": self.style.ERROR, "warning": self.style.WARNING}.get(problem.severity)
        severity = style(problem.severity) if style else problem.severity
        where = problem.path or "the whole"
        return f"{name}:{judged.line_of(problem)}: {severity}: {where}: {problem.message}"


def read(name: str) -> str:
    """Return the text of a file or of standard input; raises CommandError."""
    try:
        if name == "-":
            data = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with Path(name).open("rb") as file:
                data = file.read(MOST_BYTES + 1)
        return data.decode("utf-8-sig")
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise CommandError(f"{_named(name)} is not UTF-8 text.") from None


def _named(name: str) -> str:
    return "standard input" if name == "-" else name
