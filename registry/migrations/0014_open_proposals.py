"""Open a proposal for everything that waits for its first review already."""

import hashlib
import json
from typing import Any

from django.db import migrations
from django.db.models import Exists, OuterRef

PACKAGE_FIELDS = (
    *("version", "integrity", "artifact", "description", "category", "env", "settings"),
    *("allowed_hosts", "frameworks", "tier", "manifest", "findings"),
)


def open_proposals(apps: Any, _schema_editor: Any) -> None:
    """Packages, and public tools that people made, that are candidates and have no proposal."""
    proposals = apps.get_model("registry", "Proposal").objects
    packages, tools = (apps.get_model("registry", name).objects for name in ("Package", "Tool"))
    waiting = proposals.filter(state="open")
    for package in packages.filter(
        ~Exists(waiting.filter(package=OuterRef("pk"))), review_status="candidate"
    ).iterator():
        living = tools.filter(package=package, deleted_at=None).order_by("export_name")
        values = {name: getattr(package, name) for name in PACKAGE_FIELDS}
        _open(apps, list(living), values, package=package, opened_by_id=package.added_by_id)
    for tool in tools.filter(
        ~Exists(waiting.filter(tool=OuterRef("pk"))),
        review_status="candidate",
        visibility="public",
        package=None,
        deleted_at=None,
    ).iterator():
        _open(apps, [tool], {}, tool=tool, opened_by_id=tool.owner_id)


def _open(apps: Any, tools: list[Any], values: dict[str, Any], **fields: Any) -> None:
    from registry.review.scans import scan

    versions = apps.get_model("registry", "ToolVersion").objects.filter(tool__in=tools)
    stored = {(row.tool_id, row.number): row.snapshot for row in versions}
    said = {
        tool.export_name or tool.wire_name: stored[tool.pk, tool.version]
        for tool in tools
        if (tool.pk, tool.version) in stored
    }
    text = json.dumps([values, said], sort_keys=True, ensure_ascii=False)
    apps.get_model("registry", "Proposal").objects.create(
        cause="import" if values else "edit",
        digest=hashlib.sha256(text.encode()).hexdigest(),
        after=values,
        versions=[
            {
                "tool": str(tool.pk),
                "export": tool.export_name,
                "number": tool.version,
                "live": None,
            }
            for tool in tools
        ],
        findings=scan({}, {"package": values or None, "tools": said}),
        **fields,
    )


class Migration(migrations.Migration):
    dependencies = [("registry", "0013_console")]
    operations = [migrations.RunPython(open_proposals, migrations.RunPython.noop, elidable=True)]
