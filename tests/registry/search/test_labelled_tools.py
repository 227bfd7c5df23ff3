"""The tools of the product's own labelled set are those that the product really has.

`WRITE_LABELLED=1 pytest tests/registry/search/test_labelled_tools.py` writes the file anew.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.auth.models import User

from registry.importing.jobs import import_request, import_run
from registry.models import Tool
from registry.search.catalogue import document_of
from registry.search.labelled import line_of
from tests.registry.search.labelled import TOOLS

if TYPE_CHECKING:
    from tests.registry.sandbox.service import RunningService

pytestmark = [pytest.mark.sandbox, pytest.mark.django_db]

SERVERS = "@modelcontextprotocol/server-"
PACKAGES: list[tuple[str, str, str, dict[str, Any]]] = [
    ("builtin", "", "", {}),
    ("npm", "@tpmjs/tools-html-to-markdown", "0.1.0", {}),
    ("npm", "@tpmjs/tools-recipe-hash", "0.2.0", {}),
    ("npm", "firecrawl-aisdk", "0.12.0", {}),
    ("npm", "@exalabs/ai-sdk", "2.1.0", {}),
    ("pypi", "humanize", "4.12.3", {"module": "humanize"}),
    ("mcp", SERVERS + "everything", "2026.8.31", {"ecosystem": "npm", "args": ["stdio"]}),
    ("mcp", SERVERS + "filesystem", "2026.8.31", {"ecosystem": "npm", "args": ["/tmp"]}),
    ("mcp", SERVERS + "memory", "2026.8.31", {"ecosystem": "npm"}),
    ("mcp", "mcp-server-time", "2026.10.19", {"ecosystem": "pypi"}),
    ("mcp", "mcp-server-fetch", "2026.10.24", {"ecosystem": "pypi"}),
]
"""What the demo, the tests and the documentation bring in, in fixed versions."""


def lines_of(user: User, ecosystem: str, name: str, version: str, settings: Any) -> Iterator[str]:
    """Bring a package in and give its tools as lines, in the order of their names."""
    if ecosystem == "builtin":
        from registry.importing.builtins import builtins_sync

        builtins_sync()
        tools = Tool.objects.filter(kind="builtin")
    else:
        if ecosystem == "mcp":
            settings = {"transport": "stdio", "package": name, **settings}
        job = import_request(
            ecosystem=ecosystem,
            name=name,
            version=version,
            settings=settings or None,
            user=user,
            queued=False,
        )
        import_run(job.pk)
        job.refresh_from_db()
        if job.error and job.error["code"] == "registry_unreachable":
            pytest.skip(job.error["message"])
        assert job.error is None, job.error
        tools = Tool.objects.filter(package=job.package)
    for tool in tools.select_related("package").order_by("export_name"):
        line = line_of(document_of(tool))
        line["id"] = f"{name}/{line['name']}".removeprefix("/")
        yield json.dumps(line, ensure_ascii=False)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package[1] or package[0])
def test_the_lines_are_those_of_the_product(
    package: Any, governor: User, sandbox_service: RunningService
) -> None:
    ecosystem, name, version, settings = package
    found = list(lines_of(governor, ecosystem, name, version, settings))
    kept = TOOLS.read_text().splitlines() if TOOLS.exists() else []
    mine = [line for line in kept if belongs(json.loads(line)["id"], name)]
    if os.environ.get("WRITE_LABELLED"):
        others = [line for line in kept if line not in mine]
        TOOLS.write_text("\n".join(sorted([*others, *found])) + "\n")
    else:
        assert sorted(found) == sorted(mine)


def belongs(tool_id: str, name: str) -> bool:
    """Tell whether a tool of the file is one of the package's, or built in where it has none."""
    return tool_id.startswith(f"{name}/") if name else "/" not in tool_id
