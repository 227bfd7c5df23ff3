"""Names that read well, for tools, arguments and variables."""

import re
import unicodedata

LONGEST_TITLE = 100
LONGEST_ARGUMENT = 64
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_GENERIC = frozenset(
    {"auth", "authentication", "authorization", "security", "scheme", "default", "api", "bearer",
     "basic", "token", "oauth", "oauth2", "http", "jwt", "key", "apikey", "openid", "2", "0"}
)  # fmt: skip


def words_of(name: str) -> list[str]:
    """Return the words of a name: `listPetsByID` → list, pets, by, ID."""
    folded = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return [word if word.isupper() else word.lower() for word in _WORD.findall(folded)]


def title_from(summary: str, operation_id: str, method: str, path: str) -> str:
    """Return a tool's title: the summary where it is short, else the operation's name in words."""
    told = " ".join(summary.split()).rstrip(".")
    if 0 < len(told) <= LONGEST_TITLE:
        return told
    title = " ".join(words_of(operation_id)) or f"{method.lower()} {path_words(path, ' ')}"
    return (title[0].upper() + title[1:])[:LONGEST_TITLE].strip()


def tool_name(operation_id: str, method: str, path: str) -> str:
    """Return the name that a model calls it by: `list_pets`, or `get_pets_by_pet_id`."""
    name = "_".join(words_of(operation_id)).lower()
    return name or f"{method.lower()}_{path_words(path, '_')}".rstrip("_")


def path_words(path: str, between: str) -> str:
    """Return a path in words: `/pets/{petId}` → pets by pet id."""
    told: list[str] = []
    for part in path.split("/"):
        named = words_of(part)
        told += ["by", *named] if "{" in part and named else named
    return between.join(word.lower() for word in told)


def argument_name(name: str, taken: set[str]) -> str:
    """Return a free argument name that models and expressions can write, and take it."""
    plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")[: LONGEST_ARGUMENT - 4] or "value"
    if plain[0].isdigit():
        plain = f"_{plain}"
    free, number = plain, 2
    while free in taken:
        free, number = f"{plain}_{number}", number + 1
    taken.add(free)
    return free


def variable_name(package: str, scheme: str, ending: str, taken: set[str]) -> str:
    """Return a free name of a variable: `PETSTORE_API_KEY`; the scheme's words set two apart."""
    prefix = [word.upper() for word in words_of(package)] or ["API"]
    own = [word.upper() for word in words_of(scheme) if word.lower() not in _GENERIC]
    own = [word for word in own if word not in prefix and word not in ending.split("_")]
    parts = [*prefix, *own, *ending.split("_")]
    name = re.sub(r"^(?=\d)", "_", "_".join(parts))[:80]
    free, number = name, 2
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    taken.add(free)
    return free


def slug(title: str) -> str:
    """Return a package's name from an API's title: `Swagger Petstore` → swagger-petstore."""
    return "-".join(word.lower() for word in words_of(title))[:60].strip("-") or "api"
