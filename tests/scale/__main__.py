"""`OUTFITTER_VAR=… python -m tests.scale [PART]`: how long each page keeps a filled database busy.

Run it against a database that `manage.py seed_scale` filled; pages beyond the limit come first.
With PART only pages whose address has it.
"""

import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
LIMIT_MS = 100


def main() -> None:
    """Print a table of pages with their milliseconds of database time and rows read."""
    from config import embedded

    embedded.ensure()
    django.setup()
    from django.conf import settings

    settings.ALLOWED_HOSTS = ["testserver"]
    from tests.scale.pages import asked_by, changelists, narrowed, people, visits

    users = people()
    lists = [
        path
        for changelist in changelists()
        for path in (changelist, *narrowed(users["governor"], changelist))
    ]
    found = []
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    for who, path in (*visits(), *(("governor", path) for path in lists)):
        if wanted not in path:
            continue
        try:
            asked = asked_by(users[who], path)
        except Exception as error:
            print(who, path, type(error).__name__, error)  # noqa: T201
            continue
        found.append((sum(one.milliseconds for one in asked), who, path, asked))
    for total, who, path, asked in sorted(found, key=lambda item: -item[0]):
        mark = "OVER" if total > LIMIT_MS else ""
        rows = sum(one.rows for one in asked)
        print(f"{total:9.1f} ms {rows:9d} rows {len(asked):3d} queries {who:8} {path} {mark}")  # noqa: T201
        for one in asked if total > LIMIT_MS else ():
            if one.milliseconds > LIMIT_MS / 10:
                print(f"      {one.milliseconds:8.1f} ms {one.scans} {one.sql[:1500]}")  # noqa: T201


if __name__ == "__main__":
    main()
