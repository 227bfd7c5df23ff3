"""A process of its own that searches: a need a line in, the names of what is found a line out.

`python -m tests.registry.search.searcher USERNAME [fork]`; with `fork` its child answers, as a
Celery worker's does.
"""

from __future__ import annotations

import json
import os
import sys


def main() -> None:
    """Answer until the end of the input."""
    import django

    django.setup()
    from django.contrib.auth.models import User
    from django.db import connection

    from registry.search.service import search

    user = User.objects.get(username=sys.argv[1])
    if "fork" in sys.argv:
        search("hello", user=user)
        connection.close_pool()  # its threads stay with the parent, as Celery knows
        if child := os.fork():
            _, status = os.waitpid(child, 0)
            sys.exit(os.waitstatus_to_exitcode(status))
    for line in sys.stdin:
        found = search(line.strip(), user=user).found
        sys.stdout.write(json.dumps([hit.wire_name for hit in found]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
