"""Asking for the import of an MCP server: by the form, through REST and at the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from config.lib.errors import DomainError, InvalidInput
from registry.importing.mcp_sources import name_for, request_of, settings_from
from registry.models import ImportJob, Package
from registry.models.job import JobStatus

if TYPE_CHECKING:
    from django.contrib.auth.models import User

ADDRESS = "https://tools.example.org/mcp"


def test_an_address_and_its_sign_in_become_settings() -> None:
    settings, version = settings_from(ADDRESS, bearer="TOKEN")
    assert settings == {
        "transport": "http",
        "url": ADDRESS,
        "auth": {"type": "bearer", "env": "TOKEN"},
    }
    assert version == ""
    request = request_of(settings)
    assert name_for(request.server) == "tools.example.org/mcp"
    assert request.env == [{"name": "TOKEN", "description": "", "required": True}]


@pytest.mark.parametrize(
    ("source", "package", "version"),
    [
        ("npm:@scope/name@1.2.3", "@scope/name", "1.2.3"),
        ("npm:name", "name", ""),
        ("pypi:mcp-server-time==1.0", "mcp-server-time", "1.0"),
    ],
)
def test_a_package_is_told_from_its_version(source: str, package: str, version: str) -> None:
    settings, found = settings_from(source, arguments=["stdio", "--all"], env=["KEY"])
    assert (settings["package"], found) == (package, version)
    assert (settings["args"], settings["env"]) == (["stdio", "--all"], ["KEY"])
    assert name_for(request_of(settings).server) == package


@pytest.mark.parametrize(
    ("settings", "path"),
    [
        ({}, "settings"),
        ({"transport": "http"}, "url"),
        ({"transport": "http", "url": "ftp://a"}, "url"),
        ({"transport": "http", "url": "https://me:secret@a"}, "url"),
        ({"transport": "http", "url": "https://a/#b"}, "url"),
        ({"transport": "http", "url": "https://a:99999"}, "url"),
        ({"transport": "http", "url": "https://a b"}, "url"),
        ({"transport": "http", "url": ADDRESS, "auth": {"type": "basic"}}, "auth"),
        (
            {"transport": "http", "url": ADDRESS, "auth": {"type": "bearer", "env": "a b"}},
            "auth.bearer.env",
        ),
        (
            {
                "transport": "http",
                "url": ADDRESS,
                "auth": {"type": "header", "name": "Host", "env": "A"},
            },
            "auth.header.name",
        ),
        ({"transport": "stdio", "ecosystem": "cargo", "package": "a"}, "ecosystem"),
        ({"transport": "stdio", "ecosystem": "npm", "package": "../a"}, "package"),
        ({"transport": "stdio", "ecosystem": "npm", "package": "a", "args": ["\0"]}, "args.0"),
        ({"transport": "stdio", "ecosystem": "npm", "package": "a", "more": 1}, "more"),
    ],
)
def test_settings_that_are_wrong_name_the_field(settings: Any, path: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        request_of(settings)
    assert [problem["path"] for problem in caught.value.extra["problems"]] == [path]
    assert "secret" not in caught.value.message


@pytest.mark.parametrize(
    ("source", "given"),
    [
        ("tools.example.org", {}),
        ("npm:", {}),
        (ADDRESS, {"arguments": ["x"]}),
        ("npm:name", {"bearer": "TOKEN"}),
    ],
)
def test_a_source_that_is_none_is_refused(source: str, given: dict[str, Any]) -> None:
    with pytest.raises(DomainError):
        settings_from(source, **given)


@pytest.mark.django_db(transaction=True)
def test_the_form_queues_an_import(alice: User, client_for: Callable[[User], Client]) -> None:
    answer = client_for(alice).post(
        "/packages/import/mcp/",
        {
            "mcp-server": "npm:@scope/name@2",
            "mcp-arguments": "stdio '--a b'",
            "mcp-env": "KEY, OTHER",
        },
    )
    job = ImportJob.objects.get()
    assert answer["Location"] == f"/jobs/{job.pk}/"
    assert (job.ecosystem, job.name, job.version) == ("mcp", "@scope/name", "2")
    assert job.settings["args"] == ["stdio", "--a b"]
    assert [variable["name"] for variable in job.settings["env"]] == ["KEY", "OTHER"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"mcp-server": "nonsense"}, "names no MCP server"),
        ({"mcp-server": ""}, "This field is required."),
        ({"mcp-server": "npm:a", "mcp-arguments": "'"}, "A quotation mark is not closed."),
        ({"mcp-server": "npm:a", "mcp-name": "a b"}, "cannot be the name of a server"),
    ],
)
def test_the_form_says_what_is_wrong(
    alice: User, client_for: Callable[[User], Client], data: dict[str, str], words: str
) -> None:
    answer = client_for(alice).post("/packages/import/mcp/", data)
    assert answer.status_code == 422
    assert words in answer.content.decode()
    assert not ImportJob.objects.exists()


@pytest.mark.django_db
def test_the_form_is_for_people_who_are_signed_in(client: Client) -> None:
    assert client.post("/packages/import/mcp/", {"mcp-server": ADDRESS}).status_code == 302
    assert not ImportJob.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_an_import_is_asked_for_through_rest(
    alice: User, client_for: Callable[[User], Client]
) -> None:
    body = {"ecosystem": "mcp", "name": "tools", "settings": {"transport": "http", "url": ADDRESS}}
    answer = client_for(alice).post("/api/v1/packages/", body, content_type="application/json")
    assert answer.status_code == 202, answer.content
    assert ImportJob.objects.get().settings == {"transport": "http", "url": ADDRESS, "env": []}


@pytest.mark.django_db
def test_rest_names_the_wrong_field(alice: User, client_for: Callable[[User], Client]) -> None:
    body = {"ecosystem": "mcp", "name": "tools", "settings": {"transport": "http"}}
    answer = client_for(alice).post("/api/v1/packages/", body, content_type="application/json")
    assert answer.status_code == 400
    assert answer.json()["extra"]["problems"][0]["path"] == "url"


@pytest.mark.django_db
def test_a_failed_import_is_asked_for_again_with_its_settings(
    alice: User, bob: User, client_for: Callable[[User], Client]
) -> None:
    settings = {"transport": "http", "url": ADDRESS, "env": []}
    job = ImportJob.objects.create(
        ecosystem="mcp",
        name="tools",
        settings=settings,
        requested_by=alice,
        status=JobStatus.FAILED,
        error={"code": "upstream_unreachable", "message": "It is down.", "hint": ""},
    )
    assert client_for(bob).post(f"/jobs/{job.pk}/again/").status_code == 404
    assert client_for(alice).post(f"/jobs/{job.pk}/again/").status_code == 302
    again = ImportJob.objects.exclude(pk=job.pk).get()
    assert (again.settings, again.status) == (settings, JobStatus.QUEUED)


@pytest.mark.django_db
def test_the_command_says_what_is_wrong() -> None:
    with pytest.raises(CommandError, match="names no MCP server"):
        call_command("import_mcp", "nonsense")
    with pytest.raises(CommandError, match="public"):
        call_command("import_mcp", "http://127.0.0.1:9/mcp")
    assert not Package.objects.exists()


@pytest.mark.parametrize(
    "settings",
    [
        {"transport": "http", "url": f"{ADDRESS}?exaApiKey=abc"},
        {"transport": "stdio", "ecosystem": "npm", "package": "a", "args": ["--api-key=abc"]},
        {"transport": "stdio", "ecosystem": "npm", "package": "a", "args": ["--token", "abc"]},
    ],
)
def test_a_key_that_is_written_out_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="must not"):
        request_of(settings)


def test_an_argument_that_only_sounds_like_a_key_is_not_refused() -> None:
    arguments = ["--max-tokens", "5", "--token", "--verbose", "secret"]
    settings = {"transport": "stdio", "ecosystem": "npm", "package": "a", "args": arguments}
    assert request_of(settings).settings["args"] == arguments
