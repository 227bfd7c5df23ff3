"""Put what Deno says of a refusal into words for the person who reads them."""

import re

# V8's RangeError when RLIMIT_DATA is reached.
MEMORY_REFUSED = "Array buffer allocation failed"

NETWORK = "The tool tried to reach {} over the network, which it may not."
WORDS = {
    "net": NETWORK,
    "read": "The tool tried to read {}, which is outside its sandbox.",
    "write": "The tool tried to write {}, which is outside its sandbox.",
    "run": "The tool tried to start the program {}, which it may not.",
    "ffi": "The tool tried to load the native library {}, which it may not.",
    "sys": "The tool asked for {} of the machine, which it may not know.",
}
OTHER = "The tool asked for {}, which it may not use."

# Of Deno's own interfaces, and of those it has in common with Node.
PERMISSION = re.compile(
    r'Requires (\w+) access to "?([^",]+)"?, run again with the --allow-\w+ flag'
)
NODE_NETWORK = re.compile(r"(?:getaddrinfo|connect) (?:EPERM|EACCES|ENOTCAPABLE) (\S+)")


def readable(message: str) -> str:
    """Return a tool's error message with the refusals in it made plain."""
    message = PERMISSION.sub(lambda found: WORDS.get(found[1], OTHER).format(found[2]), message)
    return NODE_NETWORK.sub(lambda found: NETWORK.format(found[1]), message)
