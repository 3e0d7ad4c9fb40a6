"""Draw the way of one call, the picture of ``docs/one-call.md``: ``python tools/draw_one_call.py``; a test compares it."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Final

PICTURE: Final = Path(__file__).parents[1] / "docs" / "one_call.svg"

#: Role → fill and border.
COLOURS: Final = {
    "program": ("#fff6d6", "#b8860b"),
    "core": ("#edf3fc", "#4a6fa5"),
    "layer": ("#f4effb", "#7a5ba8"),
    "kernel": ("#e3f5e8", "#2f7d4f"),
}
INK, LINE = "#14263f", "#5b6b82"
#: Sizes of a box's first line and of the others, the part of it that a letter is wide, and the height of a line.
HEAD, BODY, LETTER, LEADING = 14, 12, 0.605, 18


@dataclass(frozen=True)
class Box:
    """A box: its middle, its role, and its lines."""

    x: int
    y: int
    role: str
    lines: tuple[str, ...]

    @property
    def width(self) -> float:
        """The width that its longest line needs."""
        return 28 + max(len(line) * LETTER * (BODY if number else HEAD) for number, line in enumerate(self.lines))

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


BOXES: Final = {
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
        size, weight = (BODY, "") if number else (HEAD, ' font-weight="600"')
        y = box.top + 20 + LEADING * number
        parts.append(
            f'<text x="{box.x}" y="{y:g}" font-size="{size}"{weight} fill="{INK}" text-anchor="middle">{escape(line)}</text>'
        )
    return "\n".join(parts)


def draw() -> str:
    """Return the picture as SVG."""
    column = [BOXES[name] for name in ("program", "callable", "table", "in", "kernel", "out", "result")]
    layers, pipeline, table = BOXES["layers"], BOXES["pipeline"], BOXES["table"]
    arrows = [_arrow((one.x, one.bottom), (other.x, other.top)) for one, other in pairwise(column)]
    arrows += [
        _arrow((table.right, table.y - 14), (layers.left, layers.y - 14)),
        _arrow((layers.left, layers.y + 14), (table.right, table.y + 14)),
        _arrow((table.left, table.y), (pipeline.right, pipeline.y), dashed=True),
        _arrow(
            (pipeline.x, pipeline.bottom), (pipeline.x, BOXES["in"].y), (BOXES["in"].left, BOXES["in"].y), dashed=True
        ),
    ]
    title = "The way of one call, from torch.add(a, b) to the kernel of the cpu and back"
    return "\n".join(
        [
            (
                '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 920 625" role="img" aria-labelledby="one-call"'
                " font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\">"
            ),
            f'<title id="one-call">{title}</title>',
            '<rect width="920" height="625" rx="10" fill="#ffffff"/>',
            *arrows,
            *map(_box, BOXES.values()),
            "</svg>",
            "",
        ]
    )


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
