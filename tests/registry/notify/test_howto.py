"""The receiver that the how-to shows takes what is sent here, and nothing else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User

from config.lib.addresses import parse_allowed
from registry.notify.sending_again import send_test
from registry.notify.subscriptions import SubscriptionPlan, secret_rotate, subscription_create
from tests.live import eventually, free_port

HOW_TO = Path("docs/how-to/webhooks.md")


@pytest.fixture
def run_receiver() -> Any:
    """Return a function that starts the how-to's program; it ends with the test."""
    started: list[subprocess.Popen[str]] = []
    (program,) = re.findall(r"```python\n(.*?)```", HOW_TO.read_text(), re.S)

    def start(secret: str, port: int) -> subprocess.Popen[str]:
        env = {**os.environ, "EVENT_SECRET": secret, "PORT": str(port)}
        started.append(
            subprocess.Popen(
                [sys.executable, "-c", program],
                env=env,
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        )
        return started[-1]

    yield start
    for process in started:
        process.terminate()
        process.wait()
        if process.stdout:
            process.stdout.close()


@pytest.mark.django_db
def test_the_receiver_of_the_how_to_takes_what_is_signed_and_nothing_else(
    alice: User, settings: Any, run_receiver: Callable[[str, int], subprocess.Popen[str]]
) -> None:
    settings.OUTBOUND_ALLOW = parse_allowed("127.0.0.1")
    port = free_port()
    url = f"http://127.0.0.1:{port}/events"
    plan = SubscriptionPlan(url=url, types=["run.failed"])
    subscription, secret = subscription_create(alice, plan)
    receiver = run_receiver(secret, port)

    def answers() -> bool:
        try:
            return httpx.post(url, content=b"{}").status_code == 401
        except httpx.TransportError:
            return False

    eventually(answers, what="the receiver's start")
    assert send_test(subscription).attempts[0]["status"] == 204
    secret_rotate(subscription)
    assert send_test(subscription).attempts[0]["status"] == 204, "the old secret signs, too"
    receiver.terminate()
    told, _ = receiver.communicate()
    assert told.count("test {'message': 'This event was sent to try your subscription.'") == 2
