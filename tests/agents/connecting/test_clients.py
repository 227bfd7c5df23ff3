"""The settings that are copied into clients."""

import json
import tomllib

import pytest

from agents.connecting.clients import clients_for
from agents.connecting.place import Place
from agents.connecting.programs import programs_for
from agents.connecting.snippets import PLACEHOLDER

PLACE = Place(site="https://tools.example", slug="travel-desk")
TOKEN = "oft_made-just-now"


def snippets(token=TOKEN, place=PLACE):
    every = [*clients_for(place, token), *programs_for(place, token)]
    return [each for client in every for each in (*client.snippets, *client.signed_in)]


def test_every_file_can_be_read_by_its_client():
    read = 0
    for each in snippets():
        if each.language == "json":
            json.loads(each.text)
        elif each.language == "toml":
            tomllib.loads(each.text)
        elif each.language == "python":
            compile(each.text, each.where, "exec")
        else:
            continue
        read += 1
    assert read > 10


@pytest.mark.parametrize("place", [PLACE, Place(site="http://127.0.0.1:8000")])
def test_every_client_is_given_the_address_and_the_token(place):
    for client in clients_for(place, TOKEN):
        together = " ".join(each.text for each in client.snippets)
        assert place.url in together, client.key
        assert TOKEN in together, client.key
        for each in client.signed_in:
            assert TOKEN not in each.text


def test_without_a_token_a_placeholder_stands_in_its_place():
    told = json.dumps([each.text for each in snippets("")])
    assert PLACEHOLDER in told and "oft_" not in told


def test_the_bridge_may_go_without_tls_only_where_it_would_leave_the_computer():
    def arguments(site):
        client = {each.key: each for each in clients_for(Place(site=site), TOKEN)}["stdio"]
        return json.loads(client.snippets[0].text)["mcpServers"]["outfitter"]["args"]

    assert "--allow-http" not in arguments("https://tools.example")
    assert "--allow-http" not in arguments("http://localhost:8000")
    assert "--allow-http" in arguments("http://tools.example")
    assert "--allow-http" in arguments("http://localhost.example")


def test_a_token_that_a_shell_would_read_is_quoted():
    for each in snippets("a'b; rm -rf $HOME"):
        if each.language == "shell" and "rm -rf" in each.text:
            assert "'\"'\"'" in each.text
