"""`OUTFITTER_VAR=… python -m tests.scale`: how long each page keeps a filled database busy.

Run it against a database that `manage.py seed_scale` filled; pages beyond the limit come first.
"""

import os

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
    from tests.scale.pages import asked_by, people, visits

    users = people()
    found = []
    for who, path in visits():
        try:
            asked = asked_by(users[who], path)
        except AssertionError as error:
            print(error)  # noqa: T201
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
