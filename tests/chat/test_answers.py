"""How much of an answer the model reads and the conversation keeps."""

import json

import pytest

from chat.answers import MODEL_BUDGET, RECORD_BUDGET, Answer


@pytest.mark.parametrize("text", ["plain ", 'quoted "\\" ', "Grüße 日本 ", "\\"])
def test_a_long_answer_is_shortened_for_the_model_with_a_note(text):
    told = Answer(status="succeeded", value={"text": text * 20_000}).for_model()
    assert len(told.encode()) <= MODEL_BUDGET
    content = json.loads(told)
    assert content["status"] == "succeeded"
    assert content["truncated"] is True
    assert "Ask the tool for less" in content["note"]


def test_a_short_answer_is_told_whole():
    told = Answer(status="succeeded", value={"n": 1}).for_model()
    assert json.loads(told) == {"status": "succeeded", "output": {"n": 1}}


def test_a_record_keeps_a_preview_of_what_is_too_long_and_the_log_without_its_outputs():
    entry = {"stepNumber": 1, "tool": "t", "status": "succeeded", "message": "m", "output": "x"}
    details = {"run_id": "r", "log": [entry], "logs": "y" * (RECORD_BUDGET + 1)}
    record = Answer(status="failed", value="z" * 100_000, details=details).for_record()
    assert record["error"]["truncated"] is True
    assert record["details"]["run_id"] == "r"
    assert "output" not in record["details"]["log"][0]
    assert "logs" not in record["details"]
