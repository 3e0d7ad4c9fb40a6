"""Draw the way of one call, the picture of ``docs/one-call.md``, for wide pages and for narrow ones.

python tools/draw_one_call.py [--check]   # write the pictures, or fail where they are not up to date
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Final

DOCS: Final = Path(__file__).parents[1] / "docs"

#: Role → fill and border.
COLOURS: Final = {
    "program": ("#fff6d6", "#b8860b"),
    "core": ("#edf3fc", "#4a6fa5"),
    "layer": ("#f4effb", "#7a5ba8"),
    "kernel": ("#e3f5e8", "#2f7d4f"),
}
INK, LINE = "#14263f", "#5b6b82"
#: The part of its size that a letter is wide, and the height of a line.
LETTER, LEADING = 0.605, 18


@dataclass(frozen=True)
class Box:
    """A box: its middle, its role, its lines, and the sizes of its first line and of the others."""

    x: int
    y: int
    role: str
    lines: tuple[str, ...]
    head: int = 14
    body: int = 12

    @property
    def width(self) -> float:
        """The width that its longest line needs."""
        return 2 * self.head + max(
            len(line) * LETTER * (self.body if number else self.head) for number, line in enumerate(self.lines)
        )

    @property
    def height(self) -> int:
        """The height that its lines need."""
        return 14 + LEADING * len(self.lines)

    @property
    def left(self) -> float:
        """The left edge."""
        return self.x - self.width / 2

    @property
    def right(self) -> float:
        """The right edge."""
        return self.x + self.width / 2

    @property
    def top(self) -> float:
        """The upper edge."""
        return self.y - self.height / 2

    @property
    def bottom(self) -> float:
        """The lower edge."""
        return self.y + self.height / 2


WIDE: Final = {
    "program": Box(440, 40, "program", ("1  torch.add(a, b)", "your program, with torch's names")),
    "callable": Box(440, 130, "core", ("2  aten::add.Tensor", "arguments checked, keys of a and b: AutogradCPU | CPU")),
    "table": Box(
        440, 225, "core", ("3  the call table", "mask → function, one look", "filled when a mask is first met")
    ),
    "layers": Box(770, 225, "layer", ("4  a layer: Autograd", "records a node,", "calls on without its own key")),
    "pipeline": Box(130, 225, "layer", ("in a pipeline", "records the call,", "runs it later")),
    "in": Box(440, 325, "core", ("5  the boundary", "tensors → arrays")),
    "kernel": Box(440, 410, "kernel", ("6  the kernel for CPU", "numpy.add on two arrays")),
    "out": Box(440, 495, "core", ("7  the boundary", "array → tensor")),
    "result": Box(
        440, 580, "program", ("8  tensor([4., 6.], grad_fn=<AddBackward0>)", "through the layer to your program")
    ),
}


def _narrow(x: int, y: int, role: str, *lines: str) -> Box:
    return Box(x, y, role, lines, 13, 11)


NARROW: Final = {
    "program": _narrow(180, 36, "program", "1  torch.add(a, b)", "your program, with torch's names"),
    "callable": _narrow(
        180, 126, "core", "2  aten::add.Tensor", "arguments checked,", "keys of a and b: AutogradCPU | CPU"
    ),
    "table": _narrow(
        180, 229, "core", "3  the call table", "mask → function, one look", "filled when a mask is first met"
    ),
    "layers": _narrow(256, 347, "layer", "4  a layer: Autograd", "records a node,", "calls on without", "its own key"),
    "pipeline": _narrow(76, 338, "layer", "in a pipeline", "records the call,", "runs it later"),
    "in": _narrow(180, 457, "core", "5  the boundary", "tensors → arrays"),
    "kernel": _narrow(180, 539, "kernel", "6  the kernel for CPU", "numpy.add on two arrays"),
    "out": _narrow(180, 621, "core", "7  the boundary", "array → tensor"),
    "result": _narrow(
        180, 713, "program", "8  tensor([4., 6.],", "grad_fn=<AddBackward0>)", "through the layer to your program"
    ),
}


@dataclass(frozen=True)
class Drawing:
    """A picture: its file, its size, its boxes, and its arrows, each a line through points that may be dashed."""

    name: str
    width: int
    height: int
    boxes: dict[str, Box]
    arrows: tuple[tuple[tuple[tuple[float, float], ...], bool], ...]

    @property
    def path(self) -> Path:
        """The file in the documentation."""
        return DOCS / self.name


def _down(boxes: dict[str, Box], *names: str) -> list[tuple[tuple[tuple[float, float], ...], bool]]:
    """Return arrows from each box to the one below it."""
    column = [boxes[name] for name in names]
    return [(((one.x, one.bottom), (other.x, other.top)), False) for one, other in pairwise(column)]


def _wide() -> Drawing:
    layers, pipeline, table, boundary = (WIDE[name] for name in ("layers", "pipeline", "table", "in"))
    arrows = [
        *_down(WIDE, "program", "callable", "table", "in", "kernel", "out", "result"),
        (((table.right, table.y - 14), (layers.left, layers.y - 14)), False),
        (((layers.left, layers.y + 14), (table.right, table.y + 14)), False),
        (((table.left, table.y), (pipeline.right, pipeline.y)), True),
        (((pipeline.x, pipeline.bottom), (pipeline.x, boundary.y), (boundary.left, boundary.y)), True),
    ]
    return Drawing("one_call.svg", 920, 625, WIDE, tuple(arrows))


def _tall() -> Drawing:
    layers, pipeline, table, boundary = (NARROW[name] for name in ("layers", "pipeline", "table", "in"))
    between = (pipeline.right + layers.left) / 2
    arrows = [
        *_down(NARROW, "program", "callable", "table"),
        *_down(NARROW, "in", "kernel", "out", "result"),
        (((between, table.bottom), (between, boundary.top)), False),
        (((layers.x - 32, table.bottom), (layers.x - 32, layers.top)), False),
        (((layers.x, layers.top), (layers.x, table.bottom)), False),
        (((pipeline.x, table.bottom), (pipeline.x, pipeline.top)), True),
        (((pipeline.x, pipeline.bottom), (pipeline.x, boundary.y), (boundary.left, boundary.y)), True),
    ]
    return Drawing("one_call_narrow.svg", 360, 760, NARROW, tuple(arrows))


def _arrow(*points: tuple[float, float], dashed: bool = False) -> str:
    """Return a line through points, with a head at its end."""
    (x0, y0), (x, y) = points[-2:]
    dx, dy = (x > x0) - (x < x0), (y > y0) - (y < y0)
    head = [(x - 8 * dx + 4 * dy, y - 8 * dy + 4 * dx), (x, y), (x - 8 * dx - 4 * dy, y - 8 * dy - 4 * dx)]
    path, tip = (" L ".join(f"{a:g} {b:g}" for a, b in each) for each in (points, head))
    dashes = ' stroke-dasharray="5 4"' if dashed else ""
    return (
        f'<path d="M {path}" fill="none" stroke="{LINE}" stroke-width="1.6"{dashes}/>\n'
        f'<path d="M {tip} Z" fill="{LINE}"/>'
    )


def _box(box: Box) -> str:
    fill, border = COLOURS[box.role]
    place = f'x="{box.left:g}" y="{box.top:g}" width="{box.width:g}" height="{box.height}"'
    parts = [f'<rect {place} rx="7" fill="{fill}" stroke="{border}" stroke-width="1.4"/>']
    for number, line in enumerate(box.lines):
        size, weight = (box.body, "") if number else (box.head, ' font-weight="600"')
        y = box.top + 20 + LEADING * number
        parts.append(
            f'<text x="{box.x}" y="{y:g}" font-size="{size}"{weight} fill="{INK}" text-anchor="middle">{escape(line)}</text>'
        )
    return "\n".join(parts)


def draw(drawing: Drawing) -> str:
    """Return a picture as SVG."""
    width, height = drawing.width, drawing.height
    return "\n".join(
        [
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" height="{height}"'
                f' viewBox="0 0 {width} {height}"'
                " font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\">"
            ),
            "<title>The way of one call, from torch.add(a, b) to the kernel of the cpu and back</title>",
            f'<rect width="{width}" height="{height}" rx="10" fill="#ffffff"/>',
            *(_arrow(*points, dashed=dashed) for points, dashed in drawing.arrows),
            *map(_box, drawing.boxes.values()),
            "</svg>",
            "",
        ]
    )


DRAWINGS: Final = (_wide(), _tall())


def main() -> None:
    """Write the pictures, or compare them."""
    if "--check" not in sys.argv[1:]:
        for drawing in DRAWINGS:
            drawing.path.write_text(draw(drawing), encoding="utf-8")
        return
    stale = [each.name for each in DRAWINGS if each.path.read_text(encoding="utf-8") != draw(each)]
    if stale:
        sys.exit(f"not up to date: {', '.join(stale)}; run python tools/draw_one_call.py")


if __name__ == "__main__":
    main()
