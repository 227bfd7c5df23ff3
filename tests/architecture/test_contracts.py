"""The layers hold, and so does the OpenAPI document."""

import subprocess
import sys
from pathlib import Path

from django.core.management import call_command

from tests.architecture.source import ROOT


def test_the_import_contracts_hold() -> None:
    checked = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,  # it reads the whole house, on a machine that may be busy
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_openapi_document_is_valid_and_made_without_a_warning(tmp_path: Path) -> None:
    document = tmp_path / "schema.yml"
    call_command("spectacular", validate=True, fail_on_warn=True, file=str(document))
    assert "/api/v1/" in document.read_text()
