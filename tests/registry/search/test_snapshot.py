"""A snapshot is read whole or not at all."""

import numpy as np
import pytest

from registry.search.snapshot import Snapshot, SnapshotUnusable, read_snapshot, write_snapshot

FITS = {"database": "one", "version": "a"}
SNAPSHOT = Snapshot(
    FITS,
    {"ids": ["é", "b"]},
    {
        "numbers": np.arange(6, dtype=np.int64).reshape(2, 3),
        "flags": np.array([True, False]),
        "none": np.zeros((0, 4), dtype=np.float32),
    },
)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "folder" / "search.index"
    write_snapshot(path, SNAPSHOT)
    return path


def test_what_was_written_is_read(path):
    read = read_snapshot(path, FITS)
    assert read.facts == SNAPSHOT.facts
    assert set(read.arrays) == set(SNAPSHOT.arrays)
    for name, array in SNAPSHOT.arrays.items():
        assert read.arrays[name].dtype == array.dtype
        assert np.array_equal(read.arrays[name], array)


def test_nothing_is_left_beside_the_file(path):
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_file_that_cannot_be_written_leaves_the_old_one(path):
    with pytest.raises(TypeError):
        write_snapshot(path, Snapshot(FITS, {"ids": {1, 2}}, {}))
    assert read_snapshot(path, FITS).facts == SNAPSHOT.facts
    assert [each.name for each in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("at", [0.0, 0.2, 0.5, 0.9, 0.999])
def test_a_cut_file_is_refused(path, at):
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * at)])
    with pytest.raises(SnapshotUnusable):
        read_snapshot(path, FITS)


@pytest.mark.parametrize("at", [3, 20, 50, 60, -1])
def test_a_file_with_another_byte_is_refused(path, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(SnapshotUnusable):
        read_snapshot(path, FITS)


def test_a_file_of_another_database_or_version_is_refused_with_the_reason(path):
    with pytest.raises(SnapshotUnusable, match="it is of another database"):
        read_snapshot(path, {**FITS, "database": "two"})
    with pytest.raises(SnapshotUnusable, match="it is of another version"):
        read_snapshot(path, {**FITS, "version": "b"})


def test_something_else_is_refused(tmp_path):
    path = tmp_path / "search.index"
    path.write_bytes(b"GIF89a" * 100)
    with pytest.raises(SnapshotUnusable, match="no snapshot"):
        read_snapshot(path, FITS)


def test_an_array_of_objects_is_never_read(tmp_path):
    path = tmp_path / "search.index"
    objects = np.array([{"a": 1}], dtype=object)
    write_snapshot(path, Snapshot(FITS, {}, {"objects": objects}))
    with pytest.raises(SnapshotUnusable, match="not laid out"):
        read_snapshot(path, FITS)
