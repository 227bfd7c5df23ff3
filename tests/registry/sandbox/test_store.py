"""The folders of the artifact store."""

import os
from pathlib import Path

import deno
import pytest

from registry.sandbox.service.store import lay_out, make_read_only, remove_tree, size_of
from tests.registry.sandbox.service import open_folder

STRANGER = 54321
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


@needs_root
def test_the_sandboxes_user_owns_what_it_makes_and_nothing_else() -> None:
    with open_folder() as folder:
        lay_out(folder / "store", STRANGER)
        owners = {path.name: path.stat().st_uid for path in (folder / "store").iterdir()}
        assert owners == {"runtime": 0, "artifacts": STRANGER, "builds": STRANGER}


@needs_root
def test_a_deno_that_the_sandboxes_user_cannot_read_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = tmp_path / "deno"
    closed.write_bytes(b"a program")
    closed.chmod(0o700)
    with open_folder() as folder:
        copy = folder / "store" / "runtime" / "deno"
        lay_out(folder / "store", STRANGER)
        assert not copy.exists()
        monkeypatch.setattr(deno, "find_deno_bin", lambda: str(closed))
        lay_out(folder / "store", STRANGER)
        assert copy.read_bytes() == b"a program"
        assert copy.stat().st_mode & 0o777 == 0o755


def test_laying_out_again_keeps_artifacts_and_drops_builds_that_were_cut_off() -> None:
    with open_folder() as folder:
        store = folder / "store"
        lay_out(store, os.geteuid())
        (store / "artifacts" / "kept").touch()
        (store / "builds" / "cut-off").mkdir(mode=0o500)
        lay_out(store, os.geteuid())
        assert (store / "artifacts" / "kept").exists()
        assert list((store / "builds").iterdir()) == []


def test_a_tree_is_closed_measured_and_removed_without_following_links(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("12345")
    tree = tmp_path / "tree"
    (tree / "below").mkdir(parents=True)
    (tree / "below" / "file").write_text("123")
    (tree / "link").symlink_to(outside)
    make_read_only(tree)
    assert not (tree / "below" / "file").stat().st_mode & 0o222
    assert outside.stat().st_mode & 0o200
    assert size_of(tree / "below") == 3
    remove_tree(tree)
    assert not tree.exists()
    assert outside.read_text() == "12345"
