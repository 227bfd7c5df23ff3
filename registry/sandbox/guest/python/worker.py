"""Runs one Python package inside the sandbox; what `worker.mjs` is for JavaScript.

Speaks JSON-RPC 2.0 with the sandbox service, one object per line:

    load {name, env, options}        -> {}          set the environment, then import the package
    describe {}                      -> {tools, problems, factories, unavailable, env}
    call {export, arguments}         -> {output, artifacts?}

An error's `data` is `{denied_hosts, missing_env}`: the hosts and keys that were asked for in vain.

Started as `python -I -S -B worker.py [FOLDER]`; FOLDER holds `entry.json`, `site/` and `src/`.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))

from outfitter_guest.channel import Channel  # type: ignore[import-not-found]
from outfitter_guest.server import Server  # type: ignore[import-not-found]

# Only the guest's own package stays importable from here, and it is loaded already.
sys.path.pop()

if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "/pkg")
    Server(Channel.take_over(), folder).serve()
