"""Work out what mends a step whose tool has changed: pure, from schemas alone."""

import difflib
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from config.lib.types import JsonSchema, JsonValue
from registry.schemas import property_problems

SIMILAR = 0.5
"""How alike two names of inputs are, in 0–1, for one to be offered in place of the other."""

Kind = Literal["pin", "follow", "rename", "drop", "value", "input", "replace"]


@dataclass(frozen=True)
class Given:
    """What a step gives to one input; `value` counts where it is fixed."""

    is_fixed: bool = False
    value: JsonValue = None


@dataclass(frozen=True)
class Version:
    """What a tool takes in one of its versions."""

    number: int
    schema: JsonSchema


@dataclass(frozen=True, kw_only=True)
class Called:
    """The tool that a step calls, as far as it can be called.

    `live` is None where it is gone. `earlier` are the versions before that a step may be held to,
    the newest first, and `barred` those that it may not. `successor` is the wire name of what is to
    be used in its place.
    """

    name: str
    live: Version | None
    earlier: tuple[Version, ...] = ()
    barred: frozenset[int] = frozenset()
    successor: str = ""
    successor_schema: JsonSchema | None = None
    notice: str = ""


@dataclass(frozen=True)
class Misfit:
    """One input that does not fit: `missing`, `unknown`, or `wrong` (its fixed value)."""

    kind: Literal["missing", "unknown", "wrong"]
    field: str
    told: str = ""


@dataclass(frozen=True, kw_only=True)
class Repair:
    """One way to mend a step; `to` is a version, a name or a value as JSON, by its kind."""

    kind: Kind
    label: str
    field: str = ""
    to: str = ""

    @property
    def id(self) -> str:
        """Return what names it in a form."""
        said = json.dumps([self.kind, self.field, self.to])
        return hashlib.sha256(said.encode()).hexdigest()[:12]


@dataclass(frozen=True, kw_only=True)
class Repairs:
    """What happened to the tool of a step, in sentences, and what may be done about it.

    `breaks` says that the step cannot run as it is.
    """

    told: tuple[str, ...]
    repairs: tuple[Repair, ...]
    breaks: bool


def misfits(given: Mapping[str, Given], schema: JsonSchema) -> list[Misfit]:
    """Return what of a step's inputs does not fit what a tool takes."""
    properties: Mapping[str, Any] = schema.get("properties", {})
    found = [
        Misfit("missing", name)
        for name in schema.get("required", ())
        if name not in given and "default" not in _spec(properties, name)
    ]
    closed = schema.get("additionalProperties") is False and "patternProperties" not in schema
    for name, value in given.items():
        if closed and name not in properties:
            found.append(Misfit("unknown", name))
        elif value.is_fixed and (wrong := property_problems(schema, name, value.value)):
            found.append(Misfit("wrong", name, wrong[0].message))
    return found


def repairs_of(
    given: Mapping[str, Given], called: Called, *, pinned: int | None = None
) -> Repairs | None:
    """Return what mends a step; None where nothing has happened to its tool.

    What never fitted is no change of the tool, so it is left to the check of the sequence.
    """
    if called.live is None:
        return Repairs(
            told=(f"“{called.name}” is not there any more.",),
            repairs=tuple(_replaced(given, called)),
            breaks=True,
        )
    if pinned is not None and pinned != called.live.number:
        return _held(given, called, called.live, pinned)
    now = misfits(given, called.live.schema)
    fitted = _last_that_fitted(given, called.earlier, now)
    breaking = [misfit for misfit in now if fitted and misfit not in misfits(given, fitted.schema)]
    new = breaking + _dropped(given, called.live.schema, fitted, called.earlier)
    told = [_told(called.name, misfit) for misfit in new]
    offers: list[Repair] = []
    if breaking and fitted is not None and not misfits(given, fitted.schema):
        label = f"Keep to version {fitted.number}, which fits"
        offers.append(Repair(kind="pin", to=str(fitted.number), label=label))
    if new:
        offers += _mended(given, called.live.schema, new)
    if called.notice:
        told.append(called.notice)
        offers += _replaced(given, called)
    if not told:
        return None
    return Repairs(told=tuple(told), repairs=_each_once(offers), breaks=bool(breaking))


def _held(given: Mapping[str, Given], called: Called, live: Version, pinned: int) -> Repairs | None:
    """Return what is offered for a step that is held to another version than the live one."""
    if pinned in called.barred:
        label = f"Follow the live version ({live.number})"
        return Repairs(
            told=(f"Version {pinned} of “{called.name}” cannot be called any more.",),
            repairs=(Repair(kind="follow", label=label),),
            breaks=True,
        )
    if pinned > live.number:
        return None
    wrong = misfits(given, live.schema)
    told = f"It is held to version {pinned} of “{called.name}”; version {live.number} is live"
    if wrong:
        return Repairs(told=(f"{told} and takes other inputs.",), repairs=(), breaks=False)
    label = f"Follow the live version ({live.number}): its inputs fit"
    offer = Repair(kind="follow", label=label)
    return Repairs(told=(f"{told}, and fits.",), repairs=(offer,), breaks=False)


def _dropped(
    given: Mapping[str, Given],
    schema: JsonSchema,
    fitted: Version | None,
    earlier: Sequence[Version],
) -> list[Misfit]:
    """Return the inputs that a version before had, and that the tool now takes without using them.

    It is so with a schema that is open to further inputs: nothing refuses them, and yet what they
    give is lost. A closed schema refuses them, so they are among the misfits.
    """
    before = fitted or next(iter(earlier), None)
    if before is None or schema.get("additionalProperties") or "patternProperties" in schema:
        return []
    known, kept = before.schema.get("properties", {}), schema.get("properties", {})
    refused = {misfit.field for misfit in misfits(given, schema)}
    return [
        Misfit("unknown", name)
        for name in given
        if name in known and name not in kept and name not in refused
    ]


def _last_that_fitted(
    given: Mapping[str, Given], earlier: Sequence[Version], now: Sequence[Misfit]
) -> Version | None:
    """Return the newest earlier version in which the step has fewer misfits than now."""
    if not now:
        return None
    fits = [(len(misfits(given, version.schema)), version) for version in earlier]
    better = [(count, version) for count, version in fits if count < len(now)]
    # of equally good ones the newest: versions come in this order, and min keeps the first
    return min(better, key=lambda each: each[0])[1] if better else None


def _mended(
    given: Mapping[str, Given], schema: JsonSchema, new: Sequence[Misfit]
) -> Iterator[Repair]:
    properties: Mapping[str, Any] = schema.get("properties", {})
    missing = [misfit.field for misfit in new if misfit.kind == "missing"]
    free = [name for name in properties if name not in given]
    for misfit in sorted(new, key=lambda each: each.kind != "unknown"):  # new names come first
        name, spec = misfit.field, _spec(properties, misfit.field)
        match misfit.kind:
            case "unknown":
                if like := _most_like(name, free, missing):
                    label = f"Give what “{name}” gave to “{like}”"
                    yield Repair(kind="rename", field=name, to=like, label=label)
                yield Repair(kind="drop", field=name, label=f"Take “{name}” out")
            case "missing":
                yield from _filled(name, spec)
                label = f"Make “{name}” an input of the sequence"
                yield Repair(kind="input", field=name, label=label)
            case "wrong":
                yield from _filled(name, spec)
                if name not in schema.get("required", ()):
                    yield Repair(kind="drop", field=name, label=f"Leave “{name}” out")
                label = f"Make “{name}” an input of the sequence"
                yield Repair(kind="input", field=name, label=label)


def _filled(name: str, spec: Mapping[str, Any]) -> Iterator[Repair]:
    """Offer the values that a schema itself says: its default, its only choice, its example."""
    options = spec.get("enum") if isinstance(spec.get("enum"), list) else []
    examples = spec.get("examples") if isinstance(spec.get("examples"), list) else []
    for word, values in (
        ("its default", [spec["default"]] if "default" in spec else []),
        ("the only choice", [spec["const"]] if "const" in spec else []),
        ("its first choice", options or []),
        ("its example", examples or []),
    ):
        if values:
            to = json.dumps(values[0], ensure_ascii=False)
            label = f"Give “{name}” {word}: {to[:60]}"
            yield Repair(kind="value", field=name, to=to, label=label)
            return


def _replaced(given: Mapping[str, Given], called: Called) -> Iterator[Repair]:
    if called.successor:
        fits = not misfits(given, called.successor_schema or {})
        label = f"Call “{called.successor}” in its place"
        yield Repair(
            kind="replace",
            to=called.successor,
            label=label if fits else f"{label}; its inputs differ",
        )


def _most_like(name: str, free: Sequence[str], missing: Sequence[str]) -> str:
    """Return the input that is most likely the old one under another name; what is missing first.

    Where exactly one is missing, nothing else can be meant by an input that is gone.
    """
    for names in (missing, free):
        scored = [(_alike(name, other), other) for other in names]
        score, other = max(scored, default=(0.0, ""))
        if score >= SIMILAR:
            return other
    return missing[0] if len(missing) == 1 else ""


def _alike(one: str, other: str) -> float:
    one, other = one.lower().replace("-", "_"), other.lower().replace("-", "_")
    if set(one.split("_")) & set(other.split("_")):
        return max(SIMILAR, difflib.SequenceMatcher(None, one, other).ratio())
    return difflib.SequenceMatcher(None, one, other).ratio()


def _told(tool: str, misfit: Misfit) -> str:
    match misfit.kind:
        case "missing":
            return f"“{tool}” now needs “{misfit.field}”."
        case "unknown":
            return f"“{tool}” has no input “{misfit.field}” any more."
        case _:
            return f"The value of “{misfit.field}” no longer fits “{tool}”: it {misfit.told}."


def _each_once(offers: Sequence[Repair]) -> tuple[Repair, ...]:
    return tuple({offer.id: offer for offer in offers}.values())


def _spec(properties: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    spec = properties.get(name)
    return spec if isinstance(spec, Mapping) else {}
