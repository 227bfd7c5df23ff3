"""The move to turns that wait and branch: conversations from before keep their place."""

import json
import os
import subprocess
import sys
import uuid

import pytest
from django.db import connection

pytestmark = pytest.mark.django_db(transaction=True)

PROGRAM = """
import json, sys, uuid
import django
django.setup()
from django.core.management import call_command
from django.db import connection
connection.settings_dict["NAME"] = sys.argv[1]
for app, name in (("chat", "0006"), ("agents", "0009"), ("registry", "0027")):
    call_command("migrate", app, name, verbosity=0)
columns = {}
def insert(table, **values):
    # as a row of then looked: what is not named is nothing of its type
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT column_name, data_type, is_nullable, column_default, is_identity "
            "FROM information_schema.columns WHERE table_schema = 'public' AND table_name = %s",
            [table],
        )
        for name, kind, nullable, default, identity in cursor.fetchall():
            if name in values or nullable == "YES" or default or identity == "YES":
                continue
            values[name] = {
                "uuid": str(uuid.uuid4()), "boolean": True, "jsonb": "{}", "integer": 1,
                "smallint": 1, "bigint": 1, "timestamp with time zone": "2026-01-01T00:00:00Z",
                "ARRAY": "{}", "double precision": 0, "numeric": 0,
            }.get(kind, "")
        names = ", ".join(values)
        marks = ", ".join(["%s"] * len(values))
        cursor.execute(
            f"INSERT INTO {table} ({names}) VALUES ({marks}) RETURNING id", list(values.values())
        )
        return cursor.fetchone()[0]
user = insert("auth_user", username="alice", is_superuser=False)
agent = insert(
    "agents_agent", name="Old", slug="old", owner_id=user, visibility="private",
    discovery_mode="auto", max_found_tools=5,
)
conversation = insert("chat_conversation", user_id=user, agent_id=agent, title="Before")
empty = insert("chat_conversation", user_id=user, agent_id=agent, title="Empty")
with connection.cursor() as cursor:
    # a link needs no tool here
    cursor.execute("SET session_replication_role = replica")
links = [
    insert("agents_agenttool", agent_id=agent, tool_id=str(uuid.uuid4()), approval=approval)
    for approval in ("allow", "deny")
]
with connection.cursor() as cursor:
    cursor.execute("SET session_replication_role = origin")
turns = []
for number in (1, 2, 3):
    turn = insert(
        "chat_turn", conversation_id=conversation, number=number, status="queued", model="m"
    )
    for status in ("running", "completed"):
        with connection.cursor() as cursor:
            ended = "now()" if status == "completed" else "NULL"
            cursor.execute(
                f"UPDATE chat_turn SET status = %s, finished_at = {ended} WHERE id = %s",
                [status, turn],
            )
    turns.append(str(turn))
call_command("migrate", verbosity=0)
from agents.models import Agent, AgentTool
from chat.models import Conversation, Turn
from chat.selectors import path_to
made = Conversation.objects.get(pk=conversation)
assert [str(turn.pk) for turn in path_to(made.head_id)] == turns
kept = Agent.objects.get(pk=agent)
print(json.dumps({
    "turns": turns,
    "head": str(made.head_id),
    "parents": [str(parent) if parent else None for parent in
        Turn.objects.order_by("number").values_list("parent_id", flat=True)],
    "empty": Conversation.objects.get(pk=empty).head_id,
    "mode": kept.discovery_mode,
    "approvals": [AgentTool.objects.get(pk=link).approval for link in links],
    "default": kept.approval_default,
    "statuses": sorted(set(Turn.objects.values_list("status", flat=True))),
}))
"""


@pytest.fixture
def database():
    """Give the name of an empty database."""
    name = f"upgrade_{uuid.uuid4().hex[:8]}"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
    yield name
    with connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_turns_from_before_follow_one_another_and_agents_keep_their_ways(database):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, database],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings"},
        capture_output=True,
        timeout=300,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout.splitlines()[-1])
    first, second, last = told["turns"]
    assert told["parents"] == [None, first, second]
    assert told["head"] == last
    assert told["empty"] is None
    assert told["mode"] == "auto"
    assert told["default"] == "allow"
    assert told["approvals"] == ["rules", "deny"]
    assert told["statuses"] == ["completed"]
