"""`manage.py doctor`: what is wrong with this installation, and how to mend it."""

import json
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand

from config.diagnosis import Finding, diagnose


class Command(BaseCommand):
    """Print each check; exit with status 1 when one has failed."""

    help = "Check everything the product needs and say how to mend what is wrong."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--json", action="store_true", help='print {"ok", "checks": [...]}')

    def handle(self, *_: Any, **options: Any) -> None:
        """Diagnose and print."""
        findings = diagnose()
        ok = all(finding.ok for finding in findings)
        if options["json"]:
            shape = {"ok": ok, "checks": [asdict(finding) for finding in findings]}
            self.stdout.write(json.dumps(shape, indent=1))
        else:
            for finding in findings:
                self._print(finding)
        if not ok:
            sys.exit(1)

    def _print(self, finding: Finding) -> None:
        mark = self.style.SUCCESS("ok  ") if finding.ok else self.style.ERROR("FAIL")
        self.stdout.write(f"{mark} {finding.name:<16} {finding.detail}")
        if finding.fix:
            self.stdout.write(f"     {'':<16} → {finding.fix}")
