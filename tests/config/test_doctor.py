"""`manage.py doctor`."""

import json
from pathlib import Path

import pytest

from tests.config.own_folder import manage, processes_of


def test_doctor_works_with_nothing_running_and_says_how_to_mend(tmp_path: Path) -> None:
    done = manage(tmp_path / "var", "doctor", "--json", cwd=Path("/"))
    report = json.loads(done.stdout)
    found = {check["name"]: check for check in report["checks"]}
    assert done.returncode == 1
    assert report["ok"] is False
    assert all(set(check) == {"name", "ok", "detail", "fix"} for check in report["checks"])
    assert found["postgresql"]["ok"]
    assert found["redis"]["ok"]
    assert not found["migrations"]["ok"]
    assert "migrate" in found["migrations"]["fix"]
    assert "make run" in found["sandbox"]["fix"]
    assert processes_of(tmp_path / "var") == set()


@pytest.mark.parametrize("command", ["doctor", "up"])
def test_help_needs_nothing_that_runs(command: str, tmp_path: Path) -> None:
    done = manage(tmp_path, command, "--help")
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "postgres").exists()
