"""Where the boxes and lines of a sequence's picture stand: from its input at the top downwards.

Branches stand side by side between two bars; a dashed line leads past a step that has a condition;
thin lines on the right lead from what gives a value to what reads it.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import groupby

from config.lib.types import JsonValue
from sequences.outline import END, START, Outline, Read, Stop, in_words, outline_of
from sequences.picture_parts import Box, Icon, Line, Picture

WIDTH, NARROW = 192, 138
"""Pixels of a box; of one in a branch, so that two stand beside each other on a small screen."""
HEIGHT, PILL = 52, 32
GAP_X, GAP_Y = 12, 30
LEFT, RIGHT = 20, 44
ICON = 14
NAME_CHARACTER, NOTE_CHARACTER = 8.2, 6.6
"""Pixels that a character of a title, and of what stands below it, takes on average."""
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
MOST_TRACKS = 4
"""Lines beside one another on the right, before they lie upon one another."""


def flow_picture(
    definition: JsonValue,
    names: Mapping[str, str],
    marks: Mapping[int, str] | None = None,
    *,
    link: str = "#step-",
) -> Picture:
    """Return the picture of a definition as JSON, however unfinished; it raises nothing.

    `names` are what tools are called, by id. `marks` are classes by the number of a step, such as
    `succeeded`, `failed`, `running` or `invalid`, which colour it. Each box leads to `link` and
    the key of its step (its number where it has none); without `link` it leads nowhere.
    """
    return _Drawing(outline_of(definition), names, marks or {}, link).picture()


class _Drawing:
    """One picture while it is drawn, from the top down."""

    def __init__(
        self, outline: Outline, names: Mapping[str, str], marks: Mapping[int, str], link: str
    ) -> None:
        self._outline, self._names, self._marks, self._link = outline, names, marks, link
        self._blocks = [
            (branch, list(block))
            for branch, block in groupby(outline.stops, key=lambda s: s.branch and s.branch[0])
        ]
        lanes = max([1, *(len(_lanes(block)) for branch, block in self._blocks if branch)])
        self._inner = max(WIDTH, lanes * (NARROW + GAP_X) - GAP_X)
        self._middle = LEFT + self._inner // 2
        self._y = 2
        self._boxes: dict[int, Box] = {}
        self._lines: list[Line] = []

    def picture(self) -> Picture:
        start = self._pill(START, "Input", "What the sequence is given")
        above = start.bottom
        for group, block in self._blocks:
            above = self._branches(block, above) if group else self._column(block, above)
        self._y = above + GAP_Y
        said = "What is mapped" if self._outline.maps_output else "The log of all steps"
        end = self._pill(END, "Output", said)
        self._arrow(self._middle, above, end.y)
        return Picture(
            width=LEFT + self._inner + RIGHT,
            height=end.bottom + 2,
            boxes=tuple(self._boxes.values()),
            lines=(*self._data(), *self._lines),
        )

    def _column(self, stops: list[Stop], above: int) -> int:
        """Draw steps below one another; return where the last ends."""
        for stop in stops:
            self._y = above + GAP_Y
            above = self._step(stop, self._middle, WIDTH, above).bottom
        return above

    def _branches(self, stops: list[Stop], above: int) -> int:
        """Draw branches beside one another between two bars; return where the lower one is."""
        lanes = _lanes(stops)
        if len(lanes) == 1:
            return self._column(stops, above)
        fork = above + GAP_Y // 2
        span = len(lanes) * (NARROW + GAP_X) - GAP_X
        middles = [
            self._middle - span // 2 + NARROW // 2 + lane * (NARROW + GAP_X)
            for lane in range(len(lanes))
        ]
        ends = []
        for middle, lane in zip(middles, lanes, strict=True):
            bottom = fork
            for stop in lane:
                self._y = bottom + GAP_Y
                bottom = self._step(stop, middle, NARROW, bottom).bottom
            ends.append(bottom)
        join = max(ends) + GAP_Y // 2
        bars = f"M{self._middle} {above} V{fork} M{middles[0]} {fork} H{middles[-1]}"
        ways = "".join(f" M{x} {y} V{join}" for x, y in zip(middles, ends, strict=True))
        self._line(f"{bars}{ways} M{middles[0]} {join} H{middles[-1]}")
        return join

    def _step(self, stop: Stop, middle: int, width: int, above: int) -> Box:
        x = middle - width // 2
        kinds = [
            kind
            for kind, there in (
                ("loop", stop.loops),
                ("condition", bool(stop.when)),
                ("approval", stop.asks),
            )
            if there
        ]
        icons = tuple(
            Icon(kind=kind, x=x + width - 8 - ICON - (ICON + 3) * place, y=self._y + 9)
            for place, kind in enumerate(reversed(kinds))
        )
        room = width - 20 - (ICON + 3) * len(kinds)
        tool = self._tool(stop)
        mark = self._marks.get(stop.number, "")
        states = [f"is-{mark}"] * bool(mark) + ["is-off"] * stop.disabled
        box = Box(
            number=stop.number,
            x=x,
            y=self._y,
            width=width,
            height=HEIGHT,
            name=_cut(f"{stop.number} {stop.title or tool}", room, NAME_CHARACTER),
            note=_cut(tool if stop.title else "", width - 20, NOTE_CHARACTER),
            label=in_words(stop, tool, mark, self._outline.reads),
            href=self._link and f"{self._link}{stop.key}",
            state=" ".join(states),
            icons=icons,
            loops=stop.loops,
        )
        self._boxes[stop.number] = box
        self._arrow(middle, above, box.y)
        if stop.when:
            self._skip(box, above, stop.when)
        return box

    def _tool(self, stop: Stop) -> str:
        if stop.asks:
            return "asks a person"
        unknown = "unknown tool" if _ID.fullmatch(stop.tool) else stop.tool
        return self._names.get(stop.tool) or unknown or "no tool yet"

    def _pill(self, number: int, name: str, said: str) -> Box:
        width = 88
        box = Box(
            number=number,
            x=self._middle - width // 2,
            y=self._y,
            width=width,
            height=PILL,
            name=name,
            note="",
            label=f"{name}: {said}",
            state="is-end",
        )
        self._boxes[number] = box
        return box

    def _line(self, path: str) -> None:
        self._lines.append(Line(path=path, kind="next"))

    def _arrow(self, x: int, y1: int, y2: int) -> None:
        self._line(f"M{x} {y1} V{y2} m-4 -6 l4 6 l4 -6")

    def _skip(self, box: Box, above: int, when: str) -> None:
        """Draw the way past a step that has a condition, on its left."""
        y1, y2 = min(above + 6, box.y - 8), box.bottom + 8
        side = box.x - 9
        path = f"M{box.middle} {y1} H{side + 6} Q{side} {y1} {side} {y1 + 6} V{y2 - 6} "
        path += f"Q{side} {y2} {side + 6} {y2} H{box.middle}"
        title = f"Step {box.number} is left out unless {when}"
        self._lines.append(Line(path=path, kind="skip", title=title))

    def _data(self) -> Iterator[Line]:
        """Yield what leads from each step to its readers, on a track of its own on the right."""
        reads: dict[int, list[Read]] = {}
        for read in self._outline.reads:
            reads.setdefault(read.origin, []).append(read)
        taken: list[list[tuple[int, int]]] = []
        for origin, its in sorted(reads.items(), key=lambda item: self._reach(*item)):
            box = self._boxes[origin]
            y1 = box.y + box.height * 2 // 3
            track = _free_track(taken, y1, y1 + self._reach(origin, its))
            x = LEFT + self._inner + 8 + track * 8
            for read in its:
                to = self._boxes[read.to]
                path = _around(box.right, y1, to.right, to.y + to.height // 3, x)
                yield Line(path=path, kind="data", title=read.in_words)

    def _reach(self, origin: int, reads: list[Read]) -> int:
        """Return how far below a box the last of its readers stands."""
        return max(self._boxes[read.to].y for read in reads) - self._boxes[origin].y


def _lanes(stops: list[Stop]) -> list[list[Stop]]:
    """Return the steps of a block by their branches, in the order in which these begin."""
    lanes: dict[str, list[Stop]] = {}
    for stop in stops:
        lanes.setdefault(stop.branch[1] if stop.branch else "", []).append(stop)
    return list(lanes.values())


def _free_track(taken: list[list[tuple[int, int]]], y1: int, y2: int) -> int:
    for track, spans in enumerate(taken):
        if all(y2 <= top or bottom <= y1 for top, bottom in spans):
            spans.append((y1, y2))
            return track
    if len(taken) < MOST_TRACKS:
        taken.append([(y1, y2)])
        return len(taken) - 1
    return MOST_TRACKS - 1


def _around(x1: int, y1: int, x2: int, y2: int, side: int) -> str:
    """Return the way from one right edge to another by `side`, with round corners and a tip."""
    bend = max(-6, min(6, (y2 - y1) // 2))
    return (
        f"M{x1} {y1} H{side - 6} Q{side} {y1} {side} {y1 + bend} V{y2 - bend} "
        f"Q{side} {y2} {side - 6} {y2} H{x2} m5 -3 l-5 3 l5 3"
    )


def _cut(text: str, room: float, character: float) -> str:
    longest = max(4, int(room / character))
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"
