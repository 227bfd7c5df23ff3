"""The client as somebody else installs it: a wheel of its own, without the product."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "clients" / "python"

OUTSIDE = """
import sys
import outfitter_client, outfitter_client.openai
assert outfitter_client.__file__.startswith(sys.argv[1]), outfitter_client.__file__
heavy = {"django", "langchain_core", "openai", "pydantic", "config", "agents"} & set(sys.modules)
assert not heavy, heavy
print(outfitter_client.Outfitter("http://localhost", token="oft_secret"))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the client, built from a copy of its source and installed without a network."""
    folder = tmp_path_factory.mktemp("client")
    shutil.copytree(
        SOURCE,
        folder / "source",
        ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"),
    )
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation"),
            *("--no-index", "--target", str(folder / "site"), str(folder / "source")),
        ],
        check=True,
        env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_ROOT_USER_ACTION": "ignore"},
    )
    return folder / "site"


def test_it_is_imported_without_django_and_without_any_framework(installed: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", OUTSIDE, str(installed)],
        cwd=installed,
        env={"PYTHONPATH": str(installed), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "Outfitter('http://localhost', agent='')\n"


def test_it_says_that_it_is_typed_and_needs_httpx_alone(installed: Path) -> None:
    assert (installed / "outfitter_client" / "py.typed").exists()
    (metadata,) = installed.glob("outfitter_client-*.dist-info/METADATA")
    needed = [
        line for line in metadata.read_text().splitlines() if line.startswith("Requires-Dist")
    ]
    assert [line for line in needed if "extra" not in line] == ["Requires-Dist: httpx<1,>=0.27"]


def test_nothing_of_the_tests_or_the_product_is_in_it(installed: Path) -> None:
    folders = {path.name for path in installed.iterdir() if path.suffix != ".dist-info"}
    assert folders <= {"outfitter_client", "__pycache__"}
