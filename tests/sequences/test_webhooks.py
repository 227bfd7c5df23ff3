"""Sequences that run when another program posts a signed message."""

import base64
import hashlib
import hmac
import json
import logging
import subprocess
import time
from collections.abc import Callable
from datetime import timedelta
from threading import Barrier, Thread
from typing import Any
from uuid import uuid4

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.utils import timezone

from agents.tokens import token_create
from config.lib.errors import InvalidInput
from config.lib.sealing import open_sealed
from config.sealed import sealed_values
from registry.models import AuditEvent, Tool
from registry.stopping import tool_stop
from sequences import running, tasks
from sequences.models import Run, Webhook, WebhookDelivery
from sequences.services import sequence_delete
from sequences.triggers import deliveries
from sequences.triggers.signatures import sign
from sequences.triggers.snippets import snippets_for
from sequences.triggers.webhooks import WebhookPlan, webhook_create
from tests import factories
from tests.sequences import workshop

pytestmark = pytest.mark.django_db

NEEDS_N = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
BODY = b'{"n": 1}'


@pytest.fixture
def sequence(alice: User) -> Tool:
    return workshop.sequence_of(alice, workshop.step(workshop.make("echo")), input_schema=NEEDS_N)


@pytest.fixture
def client(alice: User, client_for: Callable[[User], Client]) -> Client:
    return client_for(alice)


def made(alice: User, sequence: Tool, signing: str = "standard", **fields: Any) -> Webhook:
    return webhook_create(alice, sequence, WebhookPlan(**fields), signing=signing)[0]


def secret_of(webhook: Webhook) -> str:
    return open_sealed(webhook.secret)


def signed(webhook: Webhook, body: bytes = BODY, name: str = "") -> dict[str, str]:
    return sign(webhook.signing, secret_of(webhook), name or f"msg_{uuid4()}", body)


def post(webhook: Webhook, body: bytes = BODY, headers: Any = None, **more: str) -> Any:
    """Send a message from a program that nobody is signed in to; CSRF is checked."""
    sent = {**(signed(webhook, body) if headers is None else headers), **more}
    client = Client(enforce_csrf_checks=True)
    url = f"/hooks/{webhook.pk}/"
    return client.generic("POST", url, body, "application/json", headers=sent)


def refused(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


# --- Taking a message ---


@pytest.mark.parametrize("signing", ["standard", "github"])
def test_a_signed_message_starts_a_run_in_the_name_of_its_owner(
    alice: User, sequence: Tool, signing: str
) -> None:
    webhook = made(alice, sequence, signing)
    answer = post(webhook)
    run = Run.objects.get()
    assert answer.status_code == 202
    assert answer.json() == {
        "run": str(run.pk),
        "status": "queued",
        "url": f"/api/v1/runs/{run.pk}/",
    }
    assert (run.caller, run.user, run.webhook, run.input) == ("webhook", alice, webhook, {"n": 1})
    running.execute(run.pk)
    run.refresh_from_db()
    assert run.status == "succeeded"


@pytest.mark.parametrize("signing", ["standard", "github"])
def test_the_same_message_twice_starts_one_run(alice: User, sequence: Tool, signing: str) -> None:
    webhook = made(alice, sequence, signing)
    headers = signed(webhook, name="msg_1")
    first, second = post(webhook, headers=headers), post(webhook, headers=headers)
    assert (first.status_code, second.status_code) == (202, 200)
    assert first.json()["run"] == second.json()["run"]
    assert Run.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_the_same_message_sent_at_once_starts_one_run() -> None:
    alice = factories.make_user("alice")
    webhook = made(alice, workshop.sequence_of(alice, workshop.step(workshop.make("echo"))))
    headers, together, told = signed(webhook, name="msg_1"), Barrier(4), []

    def send() -> None:
        together.wait()
        answer = post(webhook, headers=headers)
        told.append((answer.status_code, answer.json()["run"]))
        connection.close()

    senders = [Thread(target=send) for _ in range(4)]
    for thread in senders:
        thread.start()
    for thread in senders:
        thread.join()
    assert sorted(code for code, _ in told) == [200, 200, 200, 202]
    assert len({run for _, run in told}) == 1 == Run.objects.count()


def test_two_webhooks_may_get_messages_of_the_same_name(alice: User, sequence: Tool) -> None:
    for _ in range(2):
        webhook = made(alice, sequence)
        assert post(webhook, headers=signed(webhook, name="msg_1")).status_code == 202
    assert Run.objects.count() == 2


def test_github_asks_whether_anybody_hears_and_is_answered_without_a_run(
    alice: User, sequence: Tool
) -> None:
    webhook = made(alice, sequence, "github")
    answer = post(webhook, b'{"zen": "x"}', **{"X-GitHub-Event": "ping"})
    assert (answer.status_code, answer.json()["status"]) == (200, "heard")
    assert not Run.objects.exists()


# --- Signatures ---


def forged(webhook: Webhook, kind: str) -> tuple[bytes, dict[str, str]]:
    """Return a message that is not to be taken."""
    headers, body = signed(webhook), BODY
    mark = "x-hub-signature-256" if webhook.signing == "github" else "webhook-signature"
    match kind:
        case "unsigned":
            headers = {}
        case "tampered":
            body = b'{"n": 2}'
        case "another secret":
            other = "whsec_" + base64.b64encode(b"x" * 32).decode()
            headers = sign(webhook.signing, other, "msg_1", body)
        case "no signature":
            del headers[mark]
        case "empty":
            headers[mark] = ""
        case "no comma":
            headers[mark] = "v1"
        case "many commas":
            headers[mark] = "v1,a,b,c"
        case "not base64":
            headers[mark] = "v1,%%%é"
        case "another version":
            headers[mark] = headers[mark].replace("v1,", "v2,").replace("sha256=", "sha1=")
        case "another name":
            headers["webhook-id"] = "msg_other"
        case "not utf-8":
            body = b"\xff\xfe"
    return body, headers


KINDS = [
    *("unsigned", "tampered", "another secret", "no signature", "empty", "no comma"),
    *("many commas", "not base64", "another version", "not utf-8"),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("signing", ["standard", "github"])
def test_a_message_that_is_not_signed_right_is_refused_without_a_hint(
    alice: User, sequence: Tool, signing: str, kind: str
) -> None:
    webhook = made(alice, sequence, signing)
    body, headers = forged(webhook, kind)
    answer = post(webhook, body, headers)
    assert (answer.status_code, answer.json()) == (
        401,
        {
            "code": "signature_invalid",
            "message": "The message is not signed, or not as this webhook asks for.",
            "hint": "Sign each message anew with the webhook's secret.",
            "extra": {},
        },
    )
    assert not Run.objects.exists() and not WebhookDelivery.objects.exists()


def test_the_name_of_a_message_is_signed_too(alice: User, sequence: Tool) -> None:
    webhook = made(alice, sequence)
    assert refused(post(webhook, *forged(webhook, "another name")))[0] == 401


@pytest.mark.parametrize("at", [-301, 301, "soon", "nan", "1e400", "-1", ""])
def test_an_old_message_or_one_from_the_future_is_refused(
    alice: User, sequence: Tool, at: Any
) -> None:
    webhook = made(alice, sequence)
    stamp = str(int(time.time()) + at) if isinstance(at, int) else at
    key = base64.b64decode(secret_of(webhook).removeprefix("whsec_"))
    mac = hmac.new(key, f"msg_1.{stamp}.".encode() + BODY, hashlib.sha256).digest()
    headers = {
        "webhook-id": "msg_1",
        "webhook-timestamp": stamp,
        "webhook-signature": f"v1,{base64.b64encode(mac).decode()}",
    }
    assert refused(post(webhook, headers=headers)) == (401, "signature_invalid")


def test_one_of_several_signatures_is_enough(alice: User, sequence: Tool) -> None:
    """Senders sign with two secrets while they change from one to the other."""
    webhook = made(alice, sequence)
    headers = signed(webhook)
    other = "v1," + base64.b64encode(b"x" * 32).decode()
    headers["webhook-signature"] = f"{other} {headers['webhook-signature']}"
    assert post(webhook, headers=headers).status_code == 202


def test_a_message_without_a_name_or_with_an_unusable_one_is_refused(
    alice: User, sequence: Tool
) -> None:
    webhook = made(alice, sequence, "github")
    headers = signed(webhook)
    for name in ("", "x" * 201, "a\tb"):
        answer = post(webhook, headers={**headers, "x-github-delivery": name})
        assert refused(answer) == (400, "invalid_input")
    assert "x-github-delivery" in answer.json()["hint"]


def test_a_wrong_signature_is_told_to_the_owner(alice: User, sequence: Tool) -> None:
    webhook = made(alice, sequence)
    post(webhook, headers={})
    webhook.refresh_from_db()
    assert webhook.last_error["code"] == "signature_invalid"


# --- What stands in the way ---


def test_an_unknown_address_is_not_found() -> None:
    answer = Client().post(f"/hooks/{uuid4()}/", {}, content_type="application/json")
    assert refused(answer) == (404, "not_found")


def test_only_posts_are_taken(alice: User, sequence: Tool) -> None:
    assert Client().get(f"/hooks/{made(alice, sequence).pk}/").status_code == 405


def test_a_webhook_that_is_off_says_so_to_whoever_signs_and_to_nobody_else(
    alice: User, sequence: Tool
) -> None:
    webhook = made(alice, sequence, enabled=False)
    assert refused(post(webhook)) == (403, "webhook_off")
    assert refused(post(webhook, headers={})) == (401, "signature_invalid")


def test_a_large_message_is_refused_before_it_is_read(alice: User, sequence: Tool) -> None:
    webhook = made(alice, sequence)
    body = json.dumps({"n": 1, "text": "x" * 256_000}).encode()
    assert refused(post(webhook, body)) == (413, "body_too_large")
    fits = json.dumps({"n": 1, "text": "x" * 255_000}).encode()
    assert post(webhook, fits).status_code == 202


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"[]", b"1", b"null", b'"text"', b"{", b"n=1", b'{"n": NaN}', b'{"n": 1e999}'),
        b"[" * 100_000,
        b'{"n":' * 200 + b"1" + b"}" * 200,
        b'{"n": ' + b"9" * 5_000 + b"}",
    ],
    ids=lambda body: body[:12].decode(),
)
def test_what_is_no_json_object_is_refused(alice: User, sequence: Tool, body: bytes) -> None:
    answer = post(made(alice, sequence), body)
    assert refused(answer) == (400, "invalid_input")
    assert not Run.objects.exists()


def test_text_that_no_database_holds_is_made_storable(alice: User, sequence: Tool) -> None:
    body = b'{"n": 1, "text": "a\\u0000b\\ud83d"}'
    assert post(made(alice, sequence), body).status_code == 202
    assert Run.objects.get().input == {"n": 1, "text": "a\ufffdb?"}


def test_input_that_does_not_fit_is_told_and_can_be_sent_again(alice: User, sequence: Tool) -> None:
    webhook = made(alice, sequence)
    wrong = post(webhook, b'{"n": "one"}', signed(webhook, b'{"n": "one"}', "msg_1"))
    assert refused(wrong) == (422, "delivery_invalid")
    assert wrong.json()["extra"]["problems"][0]["path"] == "$.n"
    webhook.refresh_from_db()
    assert webhook.last_error["code"] == "delivery_invalid"
    assert post(webhook, headers=signed(webhook, name="msg_1")).status_code == 202
    webhook.refresh_from_db()
    assert webhook.last_error is None


def test_a_sender_that_sends_too_often_is_told_when_to_try_again(
    alice: User, sequence: Tool, settings: LazySettings
) -> None:
    settings.WEBHOOK_CALLS_PER_MINUTE = 2
    webhook = made(alice, sequence)
    assert [post(webhook).status_code for _ in range(2)] == [202, 202]
    limited = post(webhook)
    assert refused(limited) == (429, "rate_limited")
    assert 1 <= int(limited["Retry-After"]) <= 60
    assert post(made(alice, sequence)).status_code == 202


def test_whoever_cannot_sign_is_limited_and_uses_up_nothing_of_those_who_can(
    alice: User, sequence: Tool, settings: LazySettings
) -> None:
    settings.WEBHOOK_CALLS_PER_MINUTE = 1
    webhook = made(alice, sequence)
    codes = [post(webhook, headers={}).status_code for _ in range(11)]
    assert codes == [401] * 10 + [429]
    assert post(webhook).status_code == 202


@pytest.mark.parametrize("what", ["closed account", "deleted", "stopped"])
def test_what_does_not_pass_by_itself_switches_a_webhook_off(
    alice: User, sequence: Tool, governor: User, what: str
) -> None:
    webhook = made(alice, sequence)
    if what == "closed account":
        User.objects.filter(pk=alice.pk).update(is_active=False)
    elif what == "deleted":
        sequence_delete(sequence)
    else:
        tool_stop(sequence, by=governor, reason="it leaks")
    assert 400 <= post(webhook).status_code < 500
    webhook.refresh_from_db()
    assert not webhook.enabled and webhook.last_error["message"]
    assert not Run.objects.exists()
    assert refused(post(webhook)) == (403, "webhook_off")


def test_a_webhook_gets_no_more_than_the_token_that_made_it(alice: User) -> None:
    tool = workshop.sequence_of(
        alice, workshop.step(workshop.make("echo")), required_scopes=["mail:send"]
    )
    _, token = token_create(alice, name="t", scopes=["tools:run", "tools:write"])
    made_over_rest = Client().post(
        f"/api/v1/sequences/{tool.pk}/webhooks/",
        {},
        content_type="application/json",
        headers={"Authorization": f"Bearer {token}"},
    )
    webhook = Webhook.objects.get(pk=made_over_rest.json()["id"])
    assert refused(post(webhook, b"{}")) == (403, "permission_refused")


# --- Mapping ---


def test_the_input_is_made_of_body_and_headers_by_expressions(alice: User, sequence: Tool) -> None:
    mapping = {"n": "length(body.items)", "event": 'headers."x-github-event"', "no": "body.none"}
    webhook = made(alice, sequence, "github", input_mapping=mapping)
    answer = post(webhook, b'{"items": [1, 2]}', **{"X-GitHub-Event": "push"})
    assert answer.status_code == 202
    assert Run.objects.get().input == {"n": 2, "event": "push"}


def test_a_mapping_reads_no_header_that_lets_somebody_in(alice: User, sequence: Tool) -> None:
    mapping = {"n": "body.n", "all": "headers"}
    webhook = made(alice, sequence, input_mapping=mapping)
    post(webhook, **{"Authorization": "Bearer secret", "Cookie": "a=secret", "X-Key": "secret"})
    assert set(Run.objects.get().input["all"]) == {
        *("content-type", "webhook-id", "webhook-timestamp")
    }


def test_a_needed_input_that_is_not_there_is_named(alice: User, sequence: Tool) -> None:
    webhook = made(alice, sequence, input_mapping={"n": "body.deep.n"})
    answer = post(webhook, b'{"deep": {}}')
    assert refused(answer) == (422, "delivery_invalid")
    assert answer.json()["extra"]["problems"] == [
        {"path": "$.n", "message": "There is no “n”. What is there: nothing."}
    ]


@pytest.mark.parametrize(
    ("mapping", "path"),
    [
        ({"n": "body.["}, "$.input_mapping.n"),
        ({"other": "body"}, "$.input_mapping.n"),
        ({"n": 1}, "$.input_mapping"),
        (["n"], "$.input_mapping"),
        ({"n": "x" * 1_001}, "$.input_mapping.n"),
        ({f"n{i}": "body" for i in range(51)}, "$.input_mapping"),
    ],
)
def test_a_mapping_that_cannot_work_is_refused_when_it_is_saved(
    alice: User, sequence: Tool, mapping: Any, path: str
) -> None:
    with pytest.raises(InvalidInput) as error:
        made(alice, sequence, input_mapping=mapping)
    assert error.value.extra["problems"][0]["path"] == path


# --- The secret ---


def test_the_secret_is_sealed_and_told_once(client: Client, sequence: Tool) -> None:
    made = client.post(
        f"/api/v1/sequences/{sequence.pk}/webhooks/", {}, content_type="application/json"
    )
    assert (made.status_code, made["Cache-Control"]) == (201, "no-store")
    told = made.json()
    webhook = Webhook.objects.get(pk=told["id"])
    assert told["secret"] == secret_of(webhook) and told["secret"].startswith("whsec_")
    assert told["secret"].encode() not in bytes(webhook.secret)
    shown = client.get(f"/api/v1/webhooks/{webhook.pk}/").json()
    assert "secret" not in shown and told["secret"] not in json.dumps(shown)
    for url in (f"/sequences/{sequence.pk}/triggers", f"/sequences/webhooks/{webhook.pk}/"):
        assert told["secret"] not in client.get(url).content.decode()
    assert [sealed.name for sealed in sealed_values()] == [webhook.sealed_name]


def test_another_secret_takes_the_place_of_the_old_one(
    client: Client, alice: User, sequence: Tool
) -> None:
    webhook = made(alice, sequence)
    old = signed(webhook)
    answer = client.post(f"/api/v1/webhooks/{webhook.pk}/secret/")
    webhook.refresh_from_db()
    assert answer.json()["secret"] == secret_of(webhook)
    assert post(webhook, headers=old).status_code == 401
    assert post(webhook).status_code == 202
    told = AuditEvent.objects.filter(model="sequences.webhook").latest("id")
    assert set(told.after) == {"secret_set_at"}


def test_neither_the_secret_nor_a_body_is_logged(
    alice: User, sequence: Tool, caplog: pytest.LogCaptureFixture
) -> None:
    webhook = made(alice, sequence)
    with caplog.at_level(logging.DEBUG):
        post(webhook, b'{"n": 1, "password": "hunter22"}')
        post(webhook, headers={})
    assert secret_of(webhook) not in caplog.text and "hunter22" not in caplog.text


# --- Pages, REST, upkeep ---


def test_a_test_is_signed_and_starts_a_real_run(
    client: Client, alice: User, sequence: Tool
) -> None:
    webhook = made(alice, sequence, "github")
    url = f"/sequences/webhooks/{webhook.pk}/test"
    taken = client.post(url, {"body": '{"n": 3}'}).content.decode()
    run = Run.objects.get()
    assert run.input == {"n": 3} and f"/runs/{run.pk}/" in taken
    for body in ("{", "[]", '{"n": "x"}'):
        assert client.post(url, {"body": body}).status_code == 422
    assert Run.objects.count() == 1


@pytest.mark.parametrize("signing", ["standard", "github"])
def test_the_snippets_sign_as_the_webhook_asks(
    alice: User, sequence: Tool, signing: str, tmp_path: Any
) -> None:
    """Both programs are run for real, with a curl and an httpx that only write down."""
    webhook = made(alice, sequence, signing)
    programs = snippets_for(signing, "https://tools.test/hooks/1/", '{"text": "it\'s"}')
    for name, script in {
        "curl": '#!/bin/sh\nfor word; do printf "%s\\n" "$word"; done > "$OUT"\n',
        "uuidgen": "#!/bin/sh\necho 11111111-2222\n",
    }.items():
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "httpx.py").write_text(
        "import os\n"
        "class Answer:\n    status_code = 202\n    json = lambda self: {}\n"
        "def post(url, content, headers):\n"
        "    lines = [f'{k}: {v}' for k, v in headers.items()] + ['--data', content.decode()]\n"
        "    open(os.environ['OUT'], 'w').write('\\n'.join(lines) + '\\n')\n"
        "    return Answer()\n"
    )
    for number, command in enumerate(
        (["sh", "-c", programs.shell], [".venv/bin/python", "-c", programs.python])
    ):
        out = tmp_path / f"out{number}"
        env = {
            "PATH": f"{tmp_path}:/usr/bin:/bin",
            "PYTHONPATH": str(tmp_path),
            "OUT": str(out),
            "WEBHOOK_SECRET": secret_of(webhook),
        }
        subprocess.run(command, check=True, env=env, capture_output=True)
        lines = out.read_text().splitlines()
        body = lines[-1].encode()
        headers = dict(line.split(": ", 1) for line in lines if ": " in line and "{" not in line)
        answer = post(webhook, body, {name.lower(): value for name, value in headers.items()})
        assert answer.status_code == 422, command  # it is signed right, and has no “n”


def test_a_webhook_is_listed_changed_and_deleted_over_rest(
    client: Client, alice: User, sequence: Tool
) -> None:
    webhook = made(alice, sequence, name="Shop")
    listed = client.get(f"/api/v1/sequences/{sequence.pk}/webhooks/").json()["results"]
    assert [(row["name"], row["url"]) for row in listed] == [
        ("Shop", f"http://testserver/hooks/{webhook.pk}/")
    ]
    own = f"/api/v1/webhooks/{webhook.pk}/"
    patch: Any = {"content_type": "application/json"}
    assert client.patch(own, {"enabled": False}, **patch).json()["enabled"] is False
    assert client.patch(own, {"input_mapping": {"n": "body.x"}}, **patch).status_code == 200
    assert refused(client.patch(own, {"input_mapping": {"n": "["}}, **patch))[0] == 400
    assert client.patch(own, {"enabled": True}, **patch).json()["enabled"] is True
    tried = client.post(f"{own}test/", {"body": {"x": 4}}, content_type="application/json")
    assert (tried.status_code, Run.objects.get().input) == (202, {"n": 4})
    assert client.delete(own).status_code == 204
    assert post(webhook).status_code == 404


def test_a_webhook_of_somebody_else_is_not_found(
    alice: User, bob: User, sequence: Tool, client_for: Callable[[User], Client]
) -> None:
    webhook, stranger = made(alice, sequence), client_for(bob)
    own = f"/api/v1/webhooks/{webhook.pk}/"
    for method in (stranger.get, stranger.patch, stranger.delete):
        assert method(own).json()["code"] == "not_found"
    for action in ("", "edit"):
        assert stranger.get(f"/sequences/webhooks/{webhook.pk}/{action}").status_code == 404
    for action in ("switch", "secret", "test", "delete"):
        assert stranger.post(f"/sequences/webhooks/{webhook.pk}/{action}").status_code == 404
    assert Webhook.objects.get().secret == webhook.secret


def test_old_names_of_messages_are_forgotten(alice: User, sequence: Tool) -> None:
    webhook = made(alice, sequence)
    post(webhook, headers=signed(webhook, name="old"))
    post(webhook, headers=signed(webhook, name="new"))
    long_ago = timezone.now() - deliveries.KEPT - timedelta(minutes=1)
    WebhookDelivery.objects.filter(delivery_id="old").update(received_at=long_ago)
    assert tasks.forget_deliveries() == 1
    assert WebhookDelivery.objects.get().delivery_id == "new"
    assert Run.objects.count() == 2
