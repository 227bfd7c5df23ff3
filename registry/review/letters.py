"""Letters: how a text is read past tricks of writing, and which scripts a word is written in."""

import re
import unicodedata

from config.lib.unseen import UNSEEN

LONGEST_READ = 40_000
"""Characters of one text that scans read."""

# Letters that look like Latin ones; what they stand for, small and capital.
_LOOKALIKES = str.maketrans(
    "авеіјкмнорстухѕԁɡһӏԛԝαεικνορτυχ",
    "abeijkmhopctyxsdghlqwaeiknoptux",
)
_BLANKS = re.compile(r"\s+")
_WORD = re.compile(r"[^\W\d_]{2,}")


def plain(text: str) -> str:
    """Return a text as it is read past tricks of writing: one case, one form, Latin letters."""
    folded = unicodedata.normalize("NFKC", UNSEEN.sub("", text)).casefold()
    straight = folded.replace("\u2019", "'").translate(_LOOKALIKES)
    return _BLANKS.sub(" ", straight)


def scripts_of(word: str) -> set[str]:
    """Return the scripts of a word's letters, such as {"LATIN", "CYRILLIC"}."""
    return {
        unicodedata.name(letter, "UNKNOWN").split(" ")[0] for letter in word if letter.isalpha()
    }


def mixed_scripts(text: str) -> str:
    """Return the first word that mixes Latin letters with Cyrillic or Greek ones, or "".

    Words with a single Greek letter, as units and formulas have (µm, Δt), do not count.
    """
    for found in _WORD.finditer(text[:LONGEST_READ]):
        word = found[0]
        if word.isascii():
            continue
        scripts = scripts_of(word)
        if "LATIN" in scripts and ("CYRILLIC" in scripts or ("GREEK" in scripts and _odd(word))):
            return word
    return ""


def _odd(word: str) -> bool:
    """Tell whether Greek letters stand within a Latin word, not at its beginning or end."""
    inner = word[1:-1]
    return any("GREEK" in unicodedata.name(letter, "") for letter in inner)
