"""Every number that ranking takes (provisional until the engine's own lands)."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import NamedTuple, Self


class Bound(NamedTuple):
    least: float
    most: float
    step: float
    label: str
    help: str


@dataclass(frozen=True, kw_only=True)
class Weights:
    name: float = 1.0
    description: float = 1.0
    package: float = 1.5
    category: float = 0.6
    package_description: float = 0.2
    parameters: float = 0.5
    parameter_descriptions: float = 0.5
    returns: float = 0.2
    use_case: float = 0.25
    examples: float = 0.1
    k1: float = 1.6
    b: float = 0.75
    name_coverage: float = 0.15
    clause: float = 0.5
    passage: float = 0.2
    limitations: float = 0.0
    history: float = 0.1
    dense: float = 0.65
    quality: float = 0.05
    health: float = 0.02
    popularity: float = 0.01
    floor: float = 0.2
    per_package: int = 3

    def as_dict(self) -> dict[str, float]:
        return asdict(self)

    @classmethod
    def of(cls, values: Mapping[str, object]) -> Self:
        found: dict[str, float] = {}
        for name, value in values.items():
            if name not in BOUNDS:
                raise ValueError(f"{name} is no weight")
            bound = BOUNDS[name]
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ValueError(f"{name} is no number")
            if not math.isfinite(value) or not bound.least <= value <= bound.most:
                raise ValueError(f"{name} must be {bound.least:g} to {bound.most:g}")
            found[name] = value
        return cls(**found)  # type: ignore[arg-type]


BOUNDS: Mapping[str, Bound] = {
    name: Bound(0, 10, 0.05, name.replace("_", " ").capitalize(), "What it is.")
    for name in asdict(Weights())
}
