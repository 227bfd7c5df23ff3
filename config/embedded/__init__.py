"""PostgreSQL and Redis from PyPI, run from this folder: nothing to install, nothing left behind.

`addresses()` says where they answer, `ensure()` starts them, `stop()` lets go of them. They run
while any process of this folder uses them and stop with the last one, even when it is killed.
`DATABASE_URL` and `REDIS_URL` replace the one or the other.
"""

from config.embedded.errors import EmbeddedServiceError
from config.embedded.lease import ensure, stop
from config.embedded.places import Addresses, addresses, celery_url, var_dir

__all__ = [
    "Addresses",
    "EmbeddedServiceError",
    "addresses",
    "celery_url",
    "ensure",
    "stop",
    "var_dir",
]
