"""What differs at every call.

A whole number may arrive as 5.0: to JSON Schema that is an integer, too.
"""

import secrets
import string
import uuid

from config.lib.types import JsonObject
from registry.builtins import utf8
from registry.builtins.definition import Builtin, guidance
from registry.builtins.shapes import choice, flag, integer, listing, produced, record, text
from registry.errors import ToolInputRejected

NAMESPACES = {
    "dns": uuid.NAMESPACE_DNS,
    "url": uuid.NAMESPACE_URL,
    "oid": uuid.NAMESPACE_OID,
    "x500": uuid.NAMESPACE_X500,
}
SYMBOLS = "!#$%&*+-=?@_~"
LARGEST = 10**15


def generate_uuid(arguments: JsonObject) -> JsonObject:
    """Return random UUIDs (version 4), or the one that a name always gives (version 5)."""
    if name := arguments["name"]:
        utf8.encoded(name)  # uuid5 would fail on half of a character
        return {"uuids": [str(uuid.uuid5(NAMESPACES[arguments["namespace"]], name))]}
    return {"uuids": [str(uuid.uuid4()) for _ in range(int(arguments["count"]))]}


def random_number(arguments: JsonObject) -> JsonObject:
    """Return whole numbers between two bounds, both included, each as likely as the other."""
    low, high = int(arguments["minimum"]), int(arguments["maximum"])
    if low > high:
        raise ToolInputRejected(
            f"The minimum {low} is above the maximum {high}.", "Swap the two numbers."
        )
    numbers = [low + secrets.randbelow(high - low + 1) for _ in range(int(arguments["count"]))]
    return {"numbers": numbers}


def random_choice(arguments: JsonObject) -> JsonObject:
    """Return some of the options, drawn at random."""
    options, count = list(arguments["options"]), int(arguments["count"])
    if arguments["repeat"]:
        return {"chosen": [secrets.choice(options) for _ in range(count)]}
    if count > len(options):
        raise ToolInputRejected(
            f"{count} cannot be drawn from {len(options)} options without repetition.",
            "Draw fewer, or allow repetition.",
        )
    return {"chosen": secrets.SystemRandom().sample(options, count)}


def generate_password(arguments: JsonObject) -> JsonObject:
    """Return a password with at least one character of every kind that is allowed."""
    kinds = [string.ascii_lowercase, string.ascii_uppercase, string.digits]
    if arguments["symbols"]:
        kinds.append(SYMBOLS)
    letters = [secrets.choice(kind) for kind in kinds]
    missing = int(arguments["length"]) - len(letters)
    letters += [secrets.choice("".join(kinds)) for _ in range(missing)]
    secrets.SystemRandom().shuffle(letters)
    return {"password": "".join(letters)}


TOOLS = (
    Builtin(
        name="generate_uuid",
        title="Generate UUIDs",
        description="Make unique identifiers: random UUIDs, or the UUID that belongs to a name.",
        category="random",
        input_schema=record(
            {
                "count": integer("How many random ones.", 1, 100, 1),
                "name": text("Make the UUID of this name instead.", limit=1_000, default=""),
                "namespace": choice("What kind of name it is.", list(NAMESPACES), "dns"),
            },
            required=(),
        ),
        output_schema=record({"uuids": produced("array", "The UUIDs, as text.")}),
        ai_agent=guidance(
            "When the user needs a unique identifier, a UUID or a GUID.",
            "Versions 4 and 5 only.",
            "Generate a UUID",
            "I need five random GUIDs",
            "Make a unique id for example.com",
        ),
        run=generate_uuid,
        deterministic=False,
    ),
    Builtin(
        name="random_number",
        title="Random number",
        description="Draw random whole numbers between two bounds; rolls dice, too.",
        category="random",
        input_schema=record(
            {
                "minimum": integer("The smallest number.", -LARGEST, LARGEST, 1),
                "maximum": integer("The largest number.", -LARGEST, LARGEST, 6),
                "count": integer("How many to draw.", 1, 1_000, 1),
            },
            required=(),
        ),
        output_schema=record({"numbers": produced("array", "The numbers drawn.")}),
        ai_agent=guidance(
            "When the user wants a random number, a dice roll or a lottery draw.",
            "Whole numbers only; the same number may come twice.",
            "Roll two dice",
            "Pick a random number between 1 and 100",
            "Give me six random integers",
        ),
        run=random_number,
        deterministic=False,
    ),
    Builtin(
        name="random_choice",
        title="Random choice",
        description="Choose at random among given options: flip a coin, draw a winner, pick one.",
        category="random",
        input_schema=record(
            {
                "options": listing(
                    "What to choose among.",
                    text("One option.", limit=500),
                    most=1_000,
                    least=1,
                ),
                "count": integer("How many to draw.", 1, 1_000, 1),
                "repeat": flag("The same option may be drawn again.", False),
            },
            required=("options",),
        ),
        output_schema=record({"chosen": produced("array", "The options drawn, in order.")}),
        ai_agent=guidance(
            "When the user wants a random pick among named things, a coin flip or a winner.",
            "Every option is as likely as the others.",
            "Pick one of pizza, pasta or salad at random",
            "Flip a coin: heads or tails",
            "Draw two winners from Ann, Bob and Cleo",
        ),
        run=random_choice,
        deterministic=False,
    ),
    Builtin(
        name="generate_password",
        title="Generate a password",
        description="Make a strong random password of a given length from letters and digits.",
        category="random",
        input_schema=record(
            {
                "length": integer("How many characters.", 8, 256, 20),
                "symbols": flag("Use symbols such as ! and #, too.", True),
            },
            required=(),
        ),
        output_schema=record({"password": produced("string", "The password.")}),
        ai_agent=guidance(
            "When the user asks for a new password or passphrase.",
            "The password is part of the conversation: change it where that matters.",
            "Generate a strong password",
            "Make me a 32 character password without symbols",
            "I need a new secure passphrase",
        ),
        run=generate_password,
        deterministic=False,
    ),
)
