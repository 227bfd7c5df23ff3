"""A sandbox's Python finds its libraries wherever the one outside found them."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from registry.sandbox.service.interpreter import RECORD, SEARCHED, find_interpreter


@pytest.fixture
def libpython(tmp_path: Path) -> Path:
    """Make a library that lies where no loader looks by itself."""
    file = tmp_path / "lib" / "libpython3.11.so.1.0"
    file.parent.mkdir()
    file.touch()
    return file


def shown(store: Path, **facts: Any) -> dict[str, Path]:
    record = store / "runtime" / "python" / RECORD
    record.parent.mkdir(parents=True)
    stdlib = "/opt/python/lib/python3.11"
    known = {
        **{"program": sys.executable, "prefix": "/opt/python", "version": [3, 11, 7]},
        **{"stdlib": stdlib, "platstdlib": stdlib, "libraries": []},
    }
    record.write_text(json.dumps(known | facts))
    found = find_interpreter(store)
    assert found is not None
    return dict(found.read_only)


def test_a_library_of_another_folder_is_where_the_loader_looks_without_a_cache(
    tmp_path: Path, libpython: Path
) -> None:
    seen = shown(tmp_path, libraries=[str(libpython)])
    assert [seen[f"{folder}/{libpython.name}"] for folder in SEARCHED] == [libpython] * 2


def test_so_is_one_that_was_copied_out_of_a_closed_folder(tmp_path: Path, libpython: Path) -> None:
    before = "/root/python/lib/libpython3.11.so.1.0"
    seen = shown(tmp_path, copied={before: str(libpython)})
    assert seen[before] == libpython
    assert [seen[f"{folder}/{libpython.name}"] for folder in SEARCHED] == [libpython] * 2


def test_the_systems_own_libraries_are_shown_where_they_are_and_nowhere_else(
    tmp_path: Path,
) -> None:
    libc = next(path for path in Path("/lib").glob("*-linux-gnu/libc.so.6"))
    seen = shown(tmp_path, libraries=[str(libc)])
    assert not [place for place in seen if place.endswith(libc.name)]
