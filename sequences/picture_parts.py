"""The boxes and lines of a drawn sequence."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Icon:
    """A sign in the corner of a box: `loop`, `condition` or `approval`."""

    kind: str
    x: int
    y: int


@dataclass(frozen=True, kw_only=True)
class Box:
    """A box, in pixels; `state` holds its classes, `label` all of it in words."""

    number: int
    x: int
    y: int
    width: int
    height: int
    name: str
    note: str
    label: str
    href: str = ""
    state: str = ""
    icons: tuple[Icon, ...] = ()
    loops: bool = False

    @property
    def is_end(self) -> bool:
        """Say whether it stands for the sequence's input or output."""
        return self.number < 1

    @property
    def middle(self) -> int:
        """Return the x of its middle."""
        return self.x + self.width // 2

    @property
    def right(self) -> int:
        """Return the x of its right edge."""
        return self.x + self.width

    @property
    def bottom(self) -> int:
        """Return the y of its lower edge."""
        return self.y + self.height

    @property
    def text_x(self) -> int:
        """Return where its text begins."""
        return self.x + 10

    @property
    def name_y(self) -> int:
        """Return the base line of its name; alone, it stands in the middle."""
        return self.y + (21 if self.note else self.height // 2 + 5)

    @property
    def note_y(self) -> int:
        """Return the base line of its note."""
        return self.y + 39

    @property
    def shadow(self) -> tuple[int, int]:
        """Return where the second box stands that tells of a loop."""
        return self.x + 4, self.y + 4


@dataclass(frozen=True, kw_only=True)
class Line:
    """A line as the data of an SVG path; `kind` is `next`, `skip` or `data`, `title` its words."""

    path: str
    kind: str
    title: str = ""


@dataclass(frozen=True, kw_only=True)
class Picture:
    """The whole picture, in pixels."""

    width: int
    height: int
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]
