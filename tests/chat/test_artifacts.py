"""Long results are kept as artifacts of the conversation, told in short and used by name."""

import base64
import hashlib
import json

import pytest
from django.urls import reverse

from agents.tokens import token_create
from chat.artifacts import ConversationArtifacts
from chat.means import of_turn
from chat.models import Artifact, Message, TurnEvent
from chat.models.artifact import LARGEST
from config.lib.jsontext import size_of
from registry.context import CallContext
from registry.errors import ArtifactNotFound
from registry.execution import invoke
from registry.executors.base import Output
from registry.loading import load_spec
from registry.models.invocation import Caller, Invocation
from registry.results import Failed, Succeeded
from registry.services import tool_publish
from tests import factories
from tests.factories import make_turn
from tests.fakes.model_server import MODEL, Call

pytestmark = pytest.mark.django_db(transaction=True)
LONG = {"rows": [f"row {number} " + "x" * 90 for number in range(300)]}
REPORT = b"# Report\n"


def saved(name, data, media_type="text/markdown"):
    packed = base64.b64encode(data).decode()
    return {"name": name, "media_type": media_type, "size": len(data), "data": packed}


SAVED = {
    "report": [saved("report.md", REPORT), saved("../a b\0.bin", bytes(range(256)), "odd")],
    "secret": [saved("own.txt", b"the key is canary-key-55aa, twice: canary-key-55aa")],
    "large": [saved("big.bin", b"x" * 100), saved("small.txt", b"fits")],
}


@pytest.fixture
def tool():
    return factories.make_tool(wire_name="export_rows")


@pytest.fixture
def conversation(alice, tool):
    agent = factories.make_agent(alice, tool, model=MODEL, discovery_mode="linked")
    return factories.make_conversation(alice, agent)


@pytest.fixture
def received(monkeypatch):
    """Run npm tools here: `long` gives a long result, anything else comes back."""
    texts = []

    class Exporting:
        def execute(self, spec, arguments, context):
            texts.append(arguments["text"])
            files = SAVED.get(arguments["text"])
            details = {"artifacts": files, "logs": []} if files else None
            return Output(value=LONG if arguments["text"] == "long" else "ok", details=details)

    monkeypatch.setattr("registry.execution.executor_for", lambda kind: Exporting())
    return texts


def test_a_long_result_is_kept_and_the_model_gets_its_start_size_and_name(
    conversation, model, say, received
):
    model.calls(Call("export_rows", {"text": "long"}))
    model.calls(Call("export_rows", {"text": "Sum up: «artifact_content:export_rows.json»"}))
    model.enqueue("Done.")
    turn = say(conversation, "Export, then sum up")
    artifact = Artifact.objects.get()
    content = bytes(artifact.content)
    assert json.loads(content) == LONG
    assert (artifact.name, artifact.version) == ("export_rows.json", 1)
    assert (artifact.size, artifact.media_type) == (len(content), "application/json")
    assert artifact.digest == hashlib.sha256(content).hexdigest()
    told = model.requests[1]["messages"][-1]["content"]
    assert len(told) < 16_000
    assert f"{artifact.size:,} bytes" in told
    assert "«artifact_content:export_rows.json»" in told
    assert "row 0 xxx" in told
    assert received[1] == f"Sum up: {content.decode()}"
    rows = Invocation.objects.filter(turn_id=turn.pk).order_by("created_at")
    assert artifact.invocation_id == rows[0].pk
    assert rows[1].arguments == {"text": "Sum up: «artifact_content:export_rows.json»"}


def test_a_short_result_is_told_whole(conversation, model, say, received):
    model.calls(Call("export_rows", {"text": "short"}))
    model.enqueue("Done.")
    say(conversation, "Export")
    assert not Artifact.objects.exists()
    assert json.loads(model.requests[1]["messages"][-1]["content"])["output"] == "ok"


def test_the_threshold_can_be_set(conversation, model, say, received, settings):
    settings.ARTIFACT_THRESHOLD_BYTES = size_of("ok") - 1
    model.calls(Call("export_rows", {"text": "short"}))
    model.enqueue("Done.")
    say(conversation, "Export")
    artifact = Artifact.objects.get()
    assert (artifact.name, artifact.media_type) == ("export_rows.txt", "text/plain")
    assert bytes(artifact.content) == b"ok"


def test_a_result_that_cannot_be_kept_is_told_in_short(
    conversation, model, say, received, monkeypatch
):
    monkeypatch.setattr("registry.artifact_store.LARGEST_TOTAL", 10)
    model.calls(Call("export_rows", {"text": "long"}))
    model.enqueue("Done.")
    say(conversation, "Export")
    assert not Artifact.objects.exists()
    assert "Ask the tool for less" in model.requests[1]["messages"][-1]["content"]


def test_an_artifact_of_a_name_that_is_there_is_its_next_version(conversation):
    kept = ConversationArtifacts(conversation.pk)
    kept.save("notes.txt", b"one", "text/plain")
    assert kept.save("notes.txt", b"two", "text/plain")["version"] == 2
    assert kept.read("notes.txt") == "two"
    assert kept.read("notes.txt", 1) == "one"


def test_an_artifact_has_a_plain_name_and_a_known_form_of_type(conversation):
    kept = ConversationArtifacts(conversation.pk)
    saved = kept.save("../a b\n/c\x00", b"x", "text/html; evil\r\nSet-Cookie: a")
    assert saved["name"] == ".._a_b_c_"
    assert saved["media_type"] == "application/octet-stream"


def test_sizes_are_limited(conversation, monkeypatch):
    kept = ConversationArtifacts(conversation.pk)
    with pytest.raises(ArtifactRejected, match="at most 10,000,000 bytes"):
        kept.save("big", b"x" * (LARGEST + 1), "text/plain")
    assert LARGEST < LARGEST_TOTAL
    monkeypatch.setattr("registry.artifact_store.LARGEST_TOTAL", 5)
    kept.save("one", b"abc", "text/plain")
    with pytest.raises(ArtifactRejected):
        kept.save("two", b"abc", "text/plain")


def test_an_unknown_artifact_is_an_error_that_names_what_there_is(conversation):
    kept = ConversationArtifacts(conversation.pk)
    kept.save("notes.txt", b"one", "text/plain")
    kept.save("image", b"\xff\xfe", "image/png")
    with pytest.raises(ArtifactNotFound) as caught:
        kept.read("other")
    assert caught.value.hint == "Artifacts: image, notes.txt."
    with pytest.raises(ArtifactNotFound, match="is image/png and no text"):
        kept.read("image")


def test_a_conversation_reads_no_other_conversations_artifacts(conversation, alice):
    ConversationArtifacts(conversation.pk).save("notes.txt", b"one", "text/plain")
    other = factories.make_conversation(alice)
    with pytest.raises(ArtifactNotFound, match=r"no artifact notes\.txt"):
        ConversationArtifacts(other.pk).read("notes.txt")


def test_outside_a_conversation_there_are_no_artifacts(alice, tool, received):
    context = CallContext(user=alice, caller=Caller.REST)
    result = invoke(load_spec(tool), {"text": "«artifact_content:notes.txt»"}, context)
    assert isinstance(result, Failed)
    assert result.error.code == "invalid_embed"
    assert "Only a conversation has artifacts" in result.error.message
    assert not received


def test_a_sequence_that_a_conversation_started_reads_its_artifacts(
    conversation, alice, tool, received
):
    ConversationArtifacts(conversation.pk).save("notes.txt", b"one", "text/plain")
    turn = make_turn(conversation=conversation, number=1, model=MODEL)
    context = of_turn(CallContext(user=alice, caller=Caller.SEQUENCE, turn_id=turn.pk))
    result = invoke(load_spec(tool), {"text": "«artifact_content:notes.txt»"}, context)
    assert isinstance(result, Succeeded)
    assert received == ["one"]


def test_raw_arguments_of_a_package_are_left_alone(alice, received):
    tool = factories.make_tool(raw_string_args=["text"])
    invoke(load_spec(tool), {"text": "«math:1+1»"}, CallContext(user=alice, caller=Caller.REST))
    assert received == ["«math:1+1»"]


@pytest.fixture
def page(conversation):
    """An artifact that a browser would run if it were let."""
    saved = ConversationArtifacts(conversation.pk).save(
        "page.html", b"<script>alert(1)</script>", "text/html"
    )
    return Artifact.objects.get(pk=saved["id"])


def test_a_download_is_a_file_that_no_browser_runs(page, alice, client_for):
    answer = client_for(alice).get(reverse("chat:artifact_download", args=[page.pk]))
    assert answer.content == b"<script>alert(1)</script>"
    assert answer["Content-Disposition"] == "attachment; filename*=UTF-8''page.html"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Security-Policy"] == "sandbox; default-src 'none'"


def test_artifacts_are_listed_beside_the_conversation(page, conversation, alice, client_for):
    shown = client_for(alice).get(reverse("chat:conversation_detail", args=[conversation.pk]))
    assert "page.html" in shown.text
    assert reverse("chat:artifact_download", args=[page.pk]) in shown.text


def test_nobody_else_sees_lists_or_downloads_an_artifact(page, conversation, charlie, client_for):
    stranger = client_for(charlie)
    assert stranger.get(reverse("chat:artifact_download", args=[page.pk])).status_code == 404
    path = f"/api/v1/conversations/{conversation.pk}/artifacts/"
    assert stranger.get(path).status_code == 404
    assert stranger.get(f"/api/v1/artifacts/{page.pk}/").status_code == 404


def test_artifacts_are_listed_and_downloaded_through_rest(page, conversation, alice, client_for):
    client = client_for(alice)
    listed = client.get(f"/api/v1/conversations/{conversation.pk}/artifacts/").json()
    (entry,) = listed["results"]
    assert (entry["name"], entry["version"], entry["size"]) == ("page.html", 1, 25)
    assert client.get(entry["url"]).content == b"<script>alert(1)</script>"


def test_a_token_without_the_chat_scope_lists_neither_artifacts_nor_variables(
    conversation, alice, client
):
    _, token = token_create(alice, name="t", scopes=["tools:read"])
    for what in ("artifacts", "variables"):
        path = f"/api/v1/conversations/{conversation.pk}/{what}/"
        assert client.get(path, headers={"Authorization": f"Bearer {token}"}).status_code == 403


def test_variables_are_set_listed_and_removed_through_rest(conversation, alice, client_for):
    client, path = client_for(alice), f"/api/v1/conversations/{conversation.pk}/variables/"
    body = {"env": {"EXA_API_KEY": "canary-value"}}
    made = client.post(path, body, content_type="application/json")
    assert [entry["name"] for entry in made.json()] == ["EXA_API_KEY"]
    assert "canary" not in made.text + client.get(path).text
    bad = client.post(path, {"env": {"bad name": "x"}}, content_type="application/json")
    assert (bad.status_code, bad.json()["code"]) == (400, "invalid_input")
    assert client.delete(f"{path}EXA_API_KEY/").status_code == 204
    assert client.get(path).json() == []


def test_files_that_a_tool_saves_are_artifacts_and_their_data_is_nowhere_else(
    conversation, model, say, received, client_for, alice
):
    model.calls(Call("export_rows", {"text": "report"}))
    model.calls(Call("export_rows", {"text": "Read «artifact_content:report.md»"}))
    model.enqueue("Done.")
    turn = say(conversation, "Write a report")

    report, other = Artifact.objects.order_by("media_type").reverse()
    assert (report.name, bytes(report.content), report.media_type) == (
        "report.md",
        REPORT,
        "text/markdown",
    )
    assert bytes(other.content) == bytes(range(256))
    assert other.media_type == "application/octet-stream"
    assert report.invocation_id == Invocation.objects.order_by("created_at")[0].pk
    told = json.loads(model.requests[1]["messages"][-1]["content"])
    assert told["artifacts"][0] == {
        "name": "report.md",
        "version": 1,
        "media_type": "text/markdown",
        "size": len(REPORT),
    }
    assert received[1] == f"Read {REPORT.decode()}"

    packed = SAVED["report"][0]["data"]
    everything = json.dumps(
        [
            *Message.objects.values_list("result", flat=True),
            *Message.objects.values_list("content", flat=True),
            *TurnEvent.objects.values_list("data", flat=True),
            *Invocation.objects.values_list("output", flat=True),
            model.requests,
        ],
        default=str,
    )
    assert packed not in everything

    page = client_for(alice).get(f"/chat/{conversation.pk}/").content.decode()
    assert "Files it saved" in page
    assert page.count(reverse("chat:artifact_download", args=[report.pk])) == 2
    sent = client_for(alice).get(reverse("chat:artifact_download", args=[report.pk]))
    assert sent.content == REPORT
    assert turn.status == "completed"


def test_a_secret_in_a_saved_file_is_masked(alice, tool, conversation, received):
    tool.package.env = [{"name": "OWN_KEY", "required": True}]
    tool.package.save()
    tool_publish(tool, author=alice)
    context = CallContext(
        user=alice,
        caller=Caller.CHAT,
        env=lambda names: {"OWN_KEY": "canary-key-55aa"},
        artifacts=ConversationArtifacts(conversation.pk),
    )
    result = invoke(load_spec(tool), {"text": "secret"}, context)
    assert isinstance(result, Succeeded), result
    assert b"canary" not in bytes(Artifact.objects.get().content)
    assert result.details["artifacts"][0]["name"] == "own.txt"


def test_a_file_that_cannot_be_kept_is_told_and_the_others_are_kept(
    alice, tool, conversation, received, monkeypatch
):
    monkeypatch.setattr("chat.artifacts.LARGEST", 50)
    context = CallContext(
        user=alice, caller=Caller.CHAT, artifacts=ConversationArtifacts(conversation.pk)
    )
    result = invoke(load_spec(tool), {"text": "large"}, context)
    assert isinstance(result, Succeeded)
    refused, kept = result.details["artifacts"]
    assert refused["name"] == "big.bin"
    assert "at most 50 bytes" in refused["problem"]
    assert kept["version"] == 1


def test_outside_a_conversation_the_files_are_offered_for_download(
    alice, tool, received, client_for
):
    page = client_for(alice).post(f"/tools/{tool.pk}/try/", {"text": "report"}).content.decode()
    packed = SAVED["report"][0]["data"]
    assert f'href="data:application/octet-stream;base64,{packed}" download="report.md"' in page
    assert packed not in json.dumps(Invocation.objects.get().output)

    answer = client_for(alice).post(
        f"/api/v1/tools/{tool.pk}/run/",
        {"arguments": {"text": "report"}},
        content_type="application/json",
    )
    assert answer.json()["artifacts"][0] == {
        "name": "report.md",
        "media_type": "text/markdown",
        "size": len(REPORT),
        "content": packed,
    }
    assert Artifact.objects.count() == 0
