"""Where the boxes and lines of a small picture stand: tools, then sequences, then agents."""

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from registry.impact.parts import Dependent, Impact, Kind

MOST_BOXES = 24
"""More boxes than this cannot be read; the lists tell the same."""

WIDTH, HEIGHT = 190, 46
GAP_X, GAP_Y = 56, 14
LONGEST = 24
"""Characters of a name in a box."""

Key = tuple[UUID, int | None]


@dataclass(frozen=True, kw_only=True)
class Box:
    """A box: where it stands, what is written in it, and how it stands (`is-…`)."""

    x: int
    y: int
    name: str
    note: str
    state: str
    url: str = ""

    @property
    def text_x(self) -> int:
        """Return where its text begins."""
        return self.x + 12

    @property
    def name_y(self) -> int:
        """Return the base line of its name."""
        return self.y + 19

    @property
    def note_y(self) -> int:
        """Return the base line of its note."""
        return self.y + 36


@dataclass(frozen=True, kw_only=True)
class Line:
    """A line from a box to one that uses it, as the data of an SVG path."""

    path: str
    state: str


@dataclass(frozen=True, kw_only=True)
class Picture:
    """The whole picture, in pixels."""

    width: int
    height: int
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]


def picture_of(impact: Impact) -> Picture | None:
    """Return the picture of an impact; None where there is nothing, or too much, to draw."""
    used = {use.tool_id for item in impact.dependents for use in item.uses}
    tools = [tool for key, tool in impact.change.tools.items() if key in used & impact.change.asked]
    items = [item for item in impact.dependents if item.uses]
    if not items or len(tools) + len(items) > MOST_BOXES:
        return None
    columns: list[list[tuple[Key, str, str, str, str]]] = [
        [((tool.pk, None), tool.wire_name, "changes", "is-info", "") for tool in tools]
    ]
    if impact.change.gone:
        columns[0] = [(key, name, "goes", "is-info", url) for key, name, _, _, url in columns[0]]
    columns += [[_entry(item) for item in level] for level in _levels(items) if level]
    places = {
        entry[0]: _box(column, row, entry)
        for column, entries in enumerate(columns)
        for row, entry in enumerate(entries)
    }
    return Picture(
        width=len(columns) * (WIDTH + GAP_X) - GAP_X + 2,
        height=max(len(entries) for entries in columns) * (HEIGHT + GAP_Y) - GAP_Y + 2,
        boxes=tuple(places.values()),
        lines=tuple(_lines(items, places)),
    )


def _levels(items: list[Dependent]) -> Iterator[list[Dependent]]:
    """Yield the sequences by how far they are from the tool, then the agents."""
    sequences = [item for item in items if item.kind == Kind.SEQUENCE]
    for depth in sorted({len(item.path) for item in sequences}):
        yield [item for item in sequences if len(item.path) == depth]
    yield [item for item in items if item.kind == Kind.AGENT]


def _entry(item: Dependent) -> tuple[Key, str, str, str, str]:
    key = (item.id, item.version)
    what = item.kind if item.state == "live" else f"version {item.version}"
    if item.breaks:
        return (key, item.name, f"{what} · breaks", "is-broken", item.url)
    if item.kept:
        return (key, item.name, f"{what} · pinned, stays", "is-kept", item.url)
    return (key, item.name, f"{what} · goes on working", "is-fine", item.url)


def _box(column: int, row: int, entry: tuple[Key, str, str, str, str]) -> Box:
    _, name, note, state, url = entry
    return Box(
        x=1 + column * (WIDTH + GAP_X),
        y=1 + row * (HEIGHT + GAP_Y),
        name=name if len(name) <= LONGEST else name[: LONGEST - 1] + "…",
        note=note,
        state=state,
        url=url,
    )


def _lines(items: list[Dependent], places: dict[Key, Box]) -> Iterator[Line]:
    newest = {key[0]: key for key in places}
    for item in items:
        target = places[item.id, item.version]
        for use in {(use.tool_id, use.pinned): use for use in item.uses}.values():
            key = (use.tool_id, use.pinned)
            source = places.get(key if key in places else newest.get(use.tool_id, key))
            if source is not None:
                yield Line(path=_path(source, target), state="is-kept" if use.kept else "is-used")


def _path(source: Box, target: Box) -> str:
    x1, y1 = source.x + WIDTH, source.y + HEIGHT // 2
    x2, y2 = target.x, target.y + HEIGHT // 2
    bend = GAP_X // 2
    return f"M{x1} {y1} C{x1 + bend} {y1} {x2 - bend} {y2} {x2} {y2}"
