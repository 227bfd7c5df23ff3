"""The files of docs/deploy are well-formed and say what the product has."""

from __future__ import annotations

import configparser
import json
import os
import re
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography.fernet import Fernet

from config.lib import meters
from registry.metrics import everything
from tests.architecture.source import ROOT, import_everything

DEPLOY = ROOT / "docs" / "deploy"
REFERENCE = ROOT / "docs" / "reference"


def documented_environment() -> dict[str, str]:
    """Return the variables of outfitter.env, with values for what is to be replaced."""
    found = dict(
        line.split("=", 1)
        for line in (DEPLOY / "outfitter.env").read_text().splitlines()
        if line and not line.startswith("#")
    )
    return {
        **found,
        "DATABASE_URL": found["DATABASE_URL"].replace("PASSWORD", "a-password"),
        "SECRET_KEY": secrets.token_urlsafe(50),
        "OUTFITTER_ENCRYPTION_KEYS": Fernet.generate_key().decode(),
    }


def checked(tmp_path: Path, **changed: str) -> subprocess.CompletedProcess[str]:
    environment = {**documented_environment(), "OUTFITTER_VAR": str(tmp_path), **changed}
    environment["PROMETHEUS_MULTIPROC_DIR"] = str(tmp_path / "metrics")
    return subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )


def test_check_deploy_finds_nothing_in_the_documented_environment(tmp_path: Path) -> None:
    done = checked(tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "no issues" in done.stdout


def test_a_weak_secret_key_keeps_it_from_starting(tmp_path: Path) -> None:
    done = checked(tmp_path, SECRET_KEY="changeme")
    assert done.returncode != 0
    assert "SECRET_KEY is weak" in done.stderr


def documented_metrics() -> dict[str, tuple[str, str]]:
    """Return `{name: (type, labels)}` of docs/reference/metrics.md."""
    rows = (REFERENCE / "metrics.md").read_text().splitlines()
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return {
        cell[0].strip("`"): (cell[1], cell[2].replace("`", ""))
        for cell in cells
        if cell[0].startswith("`outfitter_")
    }


@pytest.mark.django_db
def test_every_metric_is_listed_with_its_kind_and_labels(sandbox_service: Any) -> None:
    import_everything()
    known: dict[str, tuple[str, str]] = {}
    for collector in meters.REGISTRY._collector_to_names:
        for metric in collector.describe():
            names = getattr(collector, "_labelnames", ())
            suffix = "_total" if metric.type == "counter" else ""
            known[f"{metric.name}{suffix}"] = (metric.type, ", ".join(names) or "–")
    for metric in everything().collect():
        suffix = "_total" if metric.type == "counter" else ""
        labels = {name for sample in metric.samples for name in sample.labels} - {"le"}
        known.setdefault(f"{metric.name}{suffix}", (metric.type, ", ".join(sorted(labels)) or "–"))
    documented = documented_metrics()
    # what nothing is to be told of just now, such as the calls of the last minutes
    unseen = {name for name in documented if name not in known}
    recent = {"outfitter_recent_calls", "outfitter_recent_event_deliveries"}
    assert unseen <= {*recent, "outfitter_search_lag_seconds"}
    known = {name: told for name, told in known.items() if name not in recent}
    assert {name: documented.get(name) for name in known} == known


def test_the_dashboard_and_the_alerts_ask_for_metrics_that_there_are() -> None:
    listed = set(documented_metrics())
    rules = yaml.safe_load((DEPLOY / "alerts.yaml").read_text())
    asked = [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    dashboard = json.loads((DEPLOY / "grafana-dashboard.json").read_text())
    asked += [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    names = {name for expression in asked for name in re.findall(r"outfitter_\w+", expression)}
    assert {re.sub(r"_bucket$", "", name) for name in names} <= listed


def test_compose_starts_each_part_with_what_it_needs() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    services = compose["services"]
    assert {"proxy", "web", "worker", "beat", "migrate", "sandboxd", "postgres", "redis"} == set(
        services
    )
    volumes = {
        name.split(":")[0]
        for service in services.values()
        for name in service.get("volumes", [])
        if not name.startswith((".", "/"))
    }
    assert volumes <= set(compose["volumes"])
    for service in services.values():
        assert set(service.get("depends_on", [])) <= set(services)
        assert "privileged" not in service
    assert services["worker"]["stop_signal"] == "SIGQUIT"
    assert "sync_builtins" in services["migrate"]["command"], "else there is no tool at all"
    assert "env_file" not in services["sandboxd"], "the sandbox knows no secret"


@pytest.mark.parametrize("unit", sorted(path.name for path in DEPLOY.glob("systemd/*.service")))
def test_a_unit_is_whole_and_all_but_the_sandbox_have_no_rights(unit: str) -> None:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(DEPLOY / "systemd" / unit)
    service = parser["Service"]
    assert service["ExecStart"].startswith(("/opt/outfitter/.venv/bin/python", "/bin/sh"))
    assert int(service["TimeoutStopSec"]) >= 10
    if "sandboxd" in unit:
        assert "EnvironmentFile" not in service
        assert service["Delegate"]
    else:
        assert service["User"] == "outfitter"
        assert service["CapabilityBoundingSet"] == ""
        assert service["NoNewPrivileges"] == "yes"


def test_the_steps_by_hand_make_tables_tools_and_an_account() -> None:
    text = (ROOT / "docs" / "how-to" / "deploy.md").read_text()
    steps = text.split("## By systemd")[1].split("## The proxy")[0]
    assert all(command in steps for command in ("migrate", "sync_builtins", "createsuperuser"))


def test_the_environment_file_names_only_variables_that_there_are() -> None:
    listed = (REFERENCE / "settings.md").read_text()
    text = (DEPLOY / "outfitter.env").read_text()
    names = re.findall(r"^(?:# )?([A-Z][A-Z0-9_]+)=", text, re.MULTILINE)
    theirs = {"FORWARDED_ALLOW_IPS", "OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG"}
    assert {name for name in names if f"`{name}`" not in listed} <= theirs
