"""The embedded PostgreSQL and Redis."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote

import pytest

from config import embedded
from config.embedded import places
from config.embedded.locks import FileLock
from tests.config.own_folder import environment, processes_of, python
from tests.live import eventually

COUNT = """
from config import embedded
import psycopg
embedded.ensure()
embedded.ensure()
with psycopg.connect(embedded.addresses().database_url) as connection:
    connection.execute("CREATE TABLE IF NOT EXISTS kept (x int)")
    connection.execute("INSERT INTO kept VALUES (1)")
    kept = connection.execute("SELECT count(*) FROM kept").fetchone()[0]
print(kept)  # committed by now
"""


@pytest.fixture
def var(tmp_path: Path) -> Path:
    return tmp_path / "a folder with spaces"


def test_data_survives_and_nothing_runs_afterwards(var: Path) -> None:
    first = python(var, COUNT + "embedded.stop()")
    assert processes_of(var) == set()
    second = python(var, COUNT + "embedded.stop()")
    assert (first.strip(), second.strip()) == ("1", "2")


def test_services_recover_after_everything_was_killed(var: Path) -> None:
    user = subprocess.Popen(
        [sys.executable, "-c", COUNT + "import time; print(flush=True); time.sleep(600)"],
        env=environment(var),
        stdout=subprocess.PIPE,
    )
    assert user.stdout is not None
    user.stdout.readline()
    user.stdout.close()
    for number in processes_of(var):
        with suppress(ProcessLookupError):  # it ended with one that was killed before it
            os.kill(number, signal.SIGKILL)
    user.wait()
    assert python(var, COUNT + "embedded.stop()").strip() == "2"


def test_services_stop_when_their_only_user_is_killed(var: Path) -> None:
    python(var, COUNT + "import os; os._exit(0)")
    eventually(lambda: not processes_of(var), what="the end of the services")


def test_a_long_folder_gets_a_short_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUTFITTER_VAR", "/srv/" + "long/" * 40)
    for service in ("postgres", "redis"):
        assert len(os.fsencode(places.socket_dir(service))) < 80
    assert places.socket_dir("postgres") == places.socket_dir("postgres")


def test_addresses_quote_what_a_url_must_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUTFITTER_VAR", "/srv/a b%c")
    found = embedded.addresses()
    assert " " not in found.database_url + found.redis_url
    assert "/srv/a b%c/run/postgres" in unquote(found.database_url)


@pytest.mark.parametrize(
    ("url", "spelled"),
    [
        ("unix:///a/redis.sock?db=3", "redis+socket:///a/redis.sock?virtual_host=3"),
        ("redis://example.org:6379/1", "redis://example.org:6379/1"),
    ],
)
def test_celery_is_given_its_own_spelling_of_a_socket(url: str, spelled: str) -> None:
    assert embedded.celery_url(url) == spelled


def test_a_shared_lock_keeps_out_only_those_who_want_it_alone(tmp_path: Path) -> None:
    one, two, three = (FileLock(tmp_path / "lock") for _ in range(3))
    assert one.try_shared()
    assert two.try_shared()
    assert not three.try_alone()
    one.release()
    two.release()
    assert three.try_alone()
    three.release()


def test_a_tethered_process_ends_with_its_parent(tmp_path: Path) -> None:
    program = """
import os, subprocess
from config.embedded.processes import tethered
script = "echo started; exec sleep 600"
for account in ("-", "guard"):
    command = tethered(["sh", "-c", script], account=account)
    subprocess.Popen(command, stdout=subprocess.PIPE).stdout.readline()
os._exit(0)
"""
    python(tmp_path, program)
    eventually(lambda: not processes_of(tmp_path), what="the end of the children")
