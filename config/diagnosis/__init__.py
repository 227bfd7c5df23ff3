"""`manage.py doctor`: each thing the product needs, whether it is there, and how to mend it."""

from config.diagnosis.finding import Finding, Trouble
from config.diagnosis.machine import MACHINE_CHECKS
from config.diagnosis.parts import PART_CHECKS

__all__ = ["Finding", "diagnose"]


def diagnose() -> list[Finding]:
    """Make every check, in the order in which one depends on another. None of them raises."""
    findings = []
    for name, check in {**MACHINE_CHECKS, **PART_CHECKS}.items():
        try:
            findings.append(Finding(name=name, ok=True, detail=check()))
        except Trouble as trouble:
            findings.append(Finding(name=name, ok=False, detail=str(trouble), fix=trouble.fix))
    return findings
