"""What is put into an answer of the SDK, and that nothing else of it is touched."""

import asyncio

from agents.mcp.splicing import Splice

START = {"type": "http.response.start", "status": 200}


def sent(tools, body, *, length=True):
    """Return the messages that leave for an answer with these tools put in."""
    messages = []

    async def send(message):
        messages.append(message)

    async def run():
        splice = Splice(send)
        splice.tools = tools
        headers = [(b"content-length", str(len(body)).encode())] if length else []
        await splice({**START, "headers": headers})
        await splice({"type": "http.response.body", "body": body, "more_body": not length})

    asyncio.run(run())
    return messages


def test_tools_are_put_in_their_place_and_the_length_is_told_anew():
    head, body = sent(b'{"name":"a"},{"name":"b"}', b'{"result":{"tools":[]}}')
    assert body["body"] == b'{"result":{"tools":[{"name":"a"},{"name":"b"}]}}'
    assert head["headers"] == [(b"content-length", str(len(body["body"])).encode())]


def test_a_stream_is_filled_as_it_comes():
    head, body = sent(b'{"name":"a"}', b'data: {"tools":[]}\r\n\r\n', length=False)
    assert head["headers"] == []
    assert body == {
        "type": "http.response.body",
        "body": b'data: {"tools":[{"name":"a"}]}\r\n\r\n',
        "more_body": True,
    }


def test_an_answer_without_the_place_goes_out_as_it_is():
    error = b'{"error":{"message":"\\"tools\\":[]"}}'
    for tools in (b"", b'{"name":"a"}'):
        head, body = sent(tools, error)
        assert body["body"] == error
        assert head["headers"] == [(b"content-length", str(len(error)).encode())]


def test_an_empty_list_stays_empty():
    _, body = sent(b"", b'{"tools":[]}')
    assert body["body"] == b'{"tools":[]}'
