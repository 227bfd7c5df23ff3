"""What a registry knows against a package is told to the reviewer; only what is new blocks."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from config.lib.types import JsonObject
from registry.errors import SandboxUnavailable
from registry.importing import advised
from registry.importing.advised import Advised, advised_of
from registry.review.advisories import NOT_OFFERED
from registry.review.deciding import proposal_approve
from registry.review.errors import FindingsBlock
from registry.review.scans import scan
from registry.sandbox.contract import Advisories, Advisory
from tests.registry.review.making import approved, bring, tool, waiting

KNOWN = Advisory(
    package="minimist",
    versions=("0.0.8",),
    severity="critical",
    title="Prototype pollution",
    range="<0.2.1",
    id="1097677",
    url="https://example.org/GHSA-xvch-5gv4-984h",
)


def said(monkeypatch: pytest.MonkeyPatch, answer: Any) -> Advised:
    class Sandbox:
        def advisories(self, *, artifact: str) -> Advisories:
            assert artifact == "a" * 64
            if isinstance(answer, Exception):
                raise answer
            return answer  # type: ignore[no-any-return]

    monkeypatch.setattr(advised, "sandbox", Sandbox)
    return advised_of("a" * 64)


def found(*findings: JsonObject, before: list[JsonObject] | None = None) -> list[JsonObject]:
    """Return what scans tell of a package with these findings of its import."""
    old = {"package": {"findings": before}, "tools": {}} if before is not None else {}
    return scan(old, {"package": {"findings": list(findings)}, "tools": {}})


def test_an_advisory_says_package_version_range_title_and_where_it_stands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (item,) = said(monkeypatch, Advisories(offered=True, known=(KNOWN,))).findings
    assert item["path"] == "minimist"
    assert item["message"] == (
        "Prototype pollution (critical). Here: 0.0.8. Affected: <0.2.1. "
        "1097677 https://example.org/GHSA-xvch-5gv4-984h"
    )


@pytest.mark.parametrize(
    "answer", [Advisories(offered=False, known=()), SandboxUnavailable("It is away.")]
)
def test_an_import_goes_on_where_nothing_is_offered(
    monkeypatch: pytest.MonkeyPatch, answer: Any
) -> None:
    told = said(monkeypatch, answer)
    (note,) = told.notes
    assert note["message"] == NOT_OFFERED == "The registry offers no advisories, so none are known."
    assert (note["code"], note["severity"]) == ("advisories_unknown", "info")
    assert told.findings == []


@pytest.mark.parametrize(
    ("severity", "weighs"),
    [
        *(("critical", "block"), ("high", "block"), ("moderate", "warn"), ("low", "warn")),
        ("info", "warn"),
    ],
)
def test_grave_advisories_block_and_the_others_warn(severity: str, weighs: str) -> None:
    item = {"code": "advisory", "path": "minimist", "message": "m", "severity": severity}
    (told,) = found(item)
    assert (told["severity"], told["introduced"]) == (weighs, True)
    assert told["path"] == "dependencies.minimist"


def test_what_was_approved_with_an_advisory_does_not_block_for_it_again() -> None:
    item = {"code": "advisory", "path": "minimist", "message": "m", "severity": "high"}
    (told,) = found(item, before=[item])
    assert (told["severity"], told["introduced"]) == ("warn", False)


@pytest.mark.django_db
def test_an_advisory_has_to_be_accepted_before_what_has_it_is_approved(
    alice: User, governor: User
) -> None:
    approved(alice, governor)
    item = {"code": "advisory", "path": "minimist", "message": "m", "severity": "high"}
    bring(alice, tool(description="Screams."), version="2.0.0", findings=[item])
    with pytest.raises(FindingsBlock, match="advisory"):
        proposal_approve(waiting(), by=governor, reason="Needed.")
    proposal_approve(waiting(), by=governor, reason="Not reached.", accept=["advisory"])
