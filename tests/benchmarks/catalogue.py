"""Make up a registry of tools: words by Zipf's law, names of identifiers, packages that share."""

from __future__ import annotations

import random
from collections.abc import Iterator

from registry.search.document import SearchDocument
from registry.search.need import Need


def words(text: str) -> list[str]:
    return text.split()


VERBS = words("get list create update delete search find send convert parse fetch read write run")
NOUNS = words(
    "user file message weather page image invoice order event repository table record document "
    "calendar contact ticket payment address account video map route price stock report task note"
)
SMALL = words("the a of to for and in with by from on this that is as or an be your")
SYLLABLES = words("ba ce di fo gu ha ji ko lu ma ne pi ro su ta ve wi xo ya zu tra pre con ster")
CATEGORIES = ("data", "web", "finance", "media", "communication", "engineering", "science")
WORDS = 30_000


class Catalogue:
    """Documents and needs from one seed; the same seed makes the same ones."""

    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)
        rare = {self._word() for _ in range(WORDS)}
        self._words = [*VERBS, *NOUNS, *sorted(rare)]
        self._weights = [1 / (rank + 3) for rank in range(len(self._words))]
        self._drawn: list[str] = []

    def documents(self, number: int) -> Iterator[SearchDocument]:
        """Yield so many tools, on average eight to a package."""
        left, package, story, shared = 0, "", "", ("",)
        for place in range(number):
            if not left:
                left = self._random.choice((1, 2, 4, 8, 12, 20))
                package = f"{self._one()}-{self._one()}"
                story = self._prose(14)
                shared = tuple(self._one() for _ in range(6))
            left -= 1
            parameters = tuple(
                self._random.choice((*shared, f"{self._one()}_{self._one()}"))
                for _ in range(self._random.choice((0, 1, 2, 3, 5)))
            )
            yield SearchDocument(
                id=f"{place:06}",
                name=self._name(),
                description=self._prose(self._random.choice((6, 12, 20, 35))).capitalize() + ".",
                category=self._random.choice(CATEGORIES),
                package=package,
                package_description=story,
                parameters=parameters,
                parameter_descriptions=tuple(self._prose(6) for _ in parameters),
                examples=tuple(self._prose(8) for _ in range(self._random.choice((0, 0, 0, 1, 3)))),
                quality=round(self._random.random(), 2),
                health=float(self._random.random() < 0.9),
                downloads=self._random.randrange(10**5),
            )

    def needs(self, number: int, earlier: int = 0) -> list[Need]:
        """Return so many different messages of four to sixteen words, with earlier ones each."""
        return [
            Need(text=self._message(), recent=tuple(self._message() for _ in range(earlier)))
            for _ in range(number)
        ]

    def _message(self) -> str:
        length = self._random.choice((4, 6, 8, 10, 16))
        asked = f"please {self._random.choice(VERBS)} the {self._random.choice(NOUNS)}"
        return f"{asked}, {self._prose(length)}"

    def _name(self) -> str:
        words = [self._random.choice(VERBS), self._one(), self._one()][
            : self._random.choice((2, 3))
        ]
        if self._random.random() < 0.5:
            return words[0] + "".join(word.capitalize() for word in words[1:])
        return "_".join(words)

    def _prose(self, length: int) -> str:
        return " ".join(
            self._random.choice(SMALL) if self._random.random() < 0.35 else self._one()
            for _ in range(length)
        )

    def _one(self) -> str:
        if not self._drawn:
            self._drawn = self._random.choices(self._words, self._weights, k=10_000)
        return self._drawn.pop()

    def _word(self) -> str:
        return "".join(self._random.choices(SYLLABLES, k=self._random.choice((2, 3, 4))))
