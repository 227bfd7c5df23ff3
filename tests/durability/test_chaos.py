"""A hundred runs, and everything under them dies."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.durability.product import environment

pytestmark = [pytest.mark.xdist_group("durability")]


def test_no_run_is_lost_and_nothing_is_done_twice(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.durability.chaos", str(tmp_path)],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["began"]
    assert report["over"], f"each run is finished or visibly waits: {report}"
    assert set(report["runs"]) <= {"succeeded", "attention"}, report
    assert report["twice"] == [], "nothing is done twice unless it may be"
    assert report["uncalled"] == 0, "what counts as done was done"
    assert report["short"] == [], "no step is lost"
    assert report["repeated"] or report["steps"].get("in_doubt"), f"nothing was hit: {report}"
    assert report["finished"], report
    assert report["in_the_end"] == {"succeeded": 100}, report
