"""The official conformance suite, in each revision, against the running product."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.conftest import Site
from tests.conformance.not_applicable import CHECKS, HURRIED, SCENARIOS
from tests.conformance.suite import NEWEST, NOTHING, Outcome, installed

pytestmark = [pytest.mark.sandbox, pytest.mark.xdist_group("live")]

RUNS = {
    "2026-07-28": "2026-07-28",
    NEWEST: "2025-11-25",  # and what belongs to no revision
    "2025-06-18": "2025-06-18",
    "2025-03-26": "2025-03-26",
}
"""How each revision is run."""

AGAIN = 3
"""Times that a scenario is run alone which others may have held up: its own deadlines are short."""


def test_every_scenario_passes_but_those_that_do_not_apply(site: Site, tmp_path: Path) -> None:
    suite = installed(tmp_path)
    scenarios = suite.scenarios()
    known = set(scenarios)
    assert set(SCENARIOS) <= known
    assert {scenario for scenario, _ in (CHECKS | HURRIED)} <= known - set(SCENARIOS)

    found = suite.run_all(site.open_url, tuple(RUNS))
    wrong: list[str] = []
    tried: set[str] = set()
    for version, revision in RUNS.items():
        for scenario, revisions in scenarios.items():
            if revision in revisions and scenario not in SCENARIOS:
                found[version].setdefault(scenario, NOTHING)  # so that it is run again, too
        for scenario, outcome in found[version].items():
            if not scenarios[scenario] & {revision, "extension"}:
                continue
            tried.add(scenario)
            problem, times = _problem(scenario, outcome), 0
            while problem and scenario not in SCENARIOS and times < AGAIN:
                times += 1
                found[version][scenario] = suite.run_alone(site.open_url, version, scenario)
                problem = _problem(scenario, found[version][scenario])
            if problem:
                wrong.append(f"{scenario} in {revision}: {problem}")
    assert not wrong, "\n".join(wrong)
    assert tried == known
    failed = {
        (scenario, check)
        for outcomes in found.values()
        for scenario, outcome in outcomes.items()
        for check in outcome.wrong
    }
    assert failed >= CHECKS.keys()
    for version, revision in RUNS.items():
        wanted = {name for name, revisions in scenarios.items() if revision in revisions}
        assert wanted <= found[version].keys(), revision


def _problem(scenario: str, outcome: Outcome) -> str:
    """Say how what a scenario found differs from what is known of it; nothing where it does not."""
    if scenario in SCENARIOS:
        is_passed = outcome.was_run and not outcome.wrong
        return "it passes: take it from the list" if is_passed else ""
    if not outcome.was_run:
        return "it tried nothing"
    listed = {check for name, check in CHECKS if name == scenario}
    if back := listed & outcome.passed:
        return f"{sorted(back)} pass: take them from the list"
    spared = listed | {check for name, check in HURRIED if name == scenario}
    wrong = {check: said for check, said in outcome.wrong.items() if check not in spared}
    return "; ".join(f"{check}: {said}" for check, said in wrong.items())
