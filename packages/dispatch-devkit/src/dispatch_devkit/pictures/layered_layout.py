"""Where the boxes of a layered drawing stand: every edge goes down, few cross, and long ones are straight.

As Sugiyama, Tagawa and Toda do (1981): boxes are put into layers, each below everything it depends on; an edge over
several layers gets a point in each, shared by all edges from the same box; the layers are swept up and down, each
sorted by the mean of its neighbours' places; and then x comes from the neighbours again, as near to their mean as the
order and the gaps allow, which is a regression with a closed form.
A library was no help: the Python packages that lay graphs out call Graphviz's program or are not maintained.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

#: Boxes in a layer; more go to the next, so that a thousand steps side by side do not make a ribbon.
_WIDEST: Final = 24
#: How much a point of a long edge weighs beside a box, so that long edges are straight.
_POINT: Final = 6.0
#: How much a box with a single edge weighs, so that it makes room for longer chains.
_END: Final = 0.1
_SWEEPS: Final = 6

Size = tuple[float, float]
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Layout:
    """Centres of the boxes, in the order they were given, and for every edge the points it passes from top to bottom."""

    centres: list[Point]
    routes: list[list[Point]]
    width: float
    height: float


def layers_of(count: int, edges: Iterable[tuple[int, int]]) -> list[int | None]:
    """Return the layer of each of ``count`` boxes, the topmost 0; None for those on a cycle or below one.

    A box stands as high as it can, or just above the first that needs it where that makes edges shorter on the whole.

    >>> layers_of(4, [(0, 1), (1, 2), (3, 2)])
    [0, 1, 2, 1]
    """
    before: list[list[int]] = [[] for _ in range(count)]
    after: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        before[target].append(source)
        after[source].append(target)
    missing = [len(sources) for sources in before]
    found: list[int | None] = [None] * count
    floor = [0] * count
    #: Layer, and whether for boxes with something above → how many there are.
    sizes: Counter[tuple[int, bool]] = Counter()
    ready = [box for box in range(count) if not missing[box]]
    for box in ready:  # grows while it is read
        layer = floor[box]
        if before[box] or not after[box]:
            while sizes[layer, True] >= _WIDEST:
                layer += 1
            sizes[layer, True] += 1
        found[box] = layer
        for target in after[box]:
            floor[target] = max(floor[target], layer + 1)
            missing[target] -= 1
            if not missing[target]:
                ready.append(target)
    for box in reversed(ready):
        # Boxes that nothing stands above, and only this one stands below, come down with it.
        holding = sum(bool(before[source]) or len(after[source]) > 1 for source in before[box])
        if holding < len(after[box]):
            highest = found[box] or 0
            lowest = min((below for target in after[box] if (below := found[target]) is not None), default=1) - 1
            is_below = bool(before[box])
            layer = next((each for each in range(lowest, highest, -1) if sizes[each, is_below] < _WIDEST), highest)
            found[box] = layer
            sizes[layer, is_below] += 1
    return found


def arrange(sizes: Sequence[Size], edges: Sequence[tuple[int, int]], *, across: float, down: float) -> Layout:
    """Lay out boxes of the given sizes, ``across`` apart in a layer, with ``down`` between layers.

    The edges must not make a cycle.
    """
    layers = [layer or 0 for layer in layers_of(len(sizes), edges)]
    grid = _Grid(sizes, layers, edges)
    grid.sort()
    grid.place(across)
    heights = [max((sizes[box][1] for box in row if box < len(sizes)), default=0.0) for row in grid.rows]
    tops = []
    bottom = 0.0
    for height in heights:
        tops.append(bottom)
        bottom += height + down
    left = min((x - width / 2 for x, width in zip(grid.x, grid.widths, strict=True)), default=0.0)
    right = max((x + width / 2 for x, width in zip(grid.x, grid.widths, strict=True)), default=0.0)
    xs = [x - left for x in grid.x]
    centres = [(xs[box], tops[layer] + heights[layer] / 2) for box, layer in enumerate(layers)]
    routes = []
    for (source, target), points in zip(edges, grid.chains, strict=True):
        route = [(xs[source], centres[source][1] + sizes[source][1] / 2)]
        # Between layers an edge may go anywhere, within one only straight down.
        for each in (source, *points, target):
            top = tops[grid.layers[each]]
            route += [(xs[each], top)] * (each != source)
            route += [(xs[each], top + heights[grid.layers[each]])] * (each != target)
        routes.append([*route, (xs[target], centres[target][1] - sizes[target][1] / 2)])
    return Layout(centres, routes, right - left, max(bottom - down, 0.0))


class _Grid:
    """Boxes, and the points of long edges after them, in rows."""

    def __init__(self, sizes: Sequence[Size], layers: Sequence[int], edges: Sequence[tuple[int, int]]) -> None:
        self.boxes = len(sizes)
        self.widths = [width for width, _ in sizes]
        self.layers = list(layers)
        #: For each edge the points between its ends.
        self.chains: list[list[int]] = []
        links: set[tuple[int, int]] = set()
        shared: dict[int, list[int]] = {}
        for source, target in edges:
            points = shared.setdefault(source, [])
            while layers[source] + len(points) + 1 < layers[target]:
                points.append(len(self.layers))
                self.layers.append(layers[source] + len(points))
                self.widths.append(2.0)
            chain = points[: layers[target] - layers[source] - 1]
            self.chains.append(chain)
            way = [source, *chain, target]
            links.update(pairwise(way))
        self.above: list[list[int]] = [[] for _ in self.layers]
        self.below: list[list[int]] = [[] for _ in self.layers]
        for upper, lower in sorted(links):
            self.below[upper].append(lower)
            self.above[lower].append(upper)
        self.rows: list[list[int]] = [[] for _ in range(max(self.layers, default=-1) + 1)]
        for each, layer in enumerate(self.layers):
            self.rows[layer].append(each)
        self.x: list[float] = [0.0] * len(self.layers)
        ends = [len(up) + len(down) < 2 for up, down in zip(self.above, self.below, strict=True)]
        self.weights = [_POINT if each >= self.boxes else _END if end else 1.0 for each, end in enumerate(ends)]

    def sort(self) -> None:
        """Order the rows so that few edges cross."""
        best, fewest = self.rows, self._crossings(self.rows)
        rows = [list(row) for row in self.rows]
        for sweep in range(_SWEEPS):
            # Neighbours come to stand below each other even where nothing crosses from the start.
            if not fewest and sweep > 1:
                break
            is_down = sweep % 2 == 0
            near = self.above if is_down else self.below
            for index, row in enumerate(rows if is_down else reversed(rows)):
                if index:
                    row.sort(key=lambda each: self._mean(near[each], each))
                for place, each in enumerate(row):
                    self.x[each] = place / max(len(row) - 1, 1)
            found = self._crossings(rows)
            if found <= fewest:
                best, fewest = [list(row) for row in rows], found
        self.rows = best

    def _mean(self, near: Sequence[int], each: int) -> float:
        return sum(self.x[other] for other in near) / len(near) if near else self.x[each]

    def _crossings(self, rows: Sequence[Sequence[int]]) -> int:
        place = {each: index for row in rows for index, each in enumerate(row)}
        total = 0
        for row in rows:
            seen: list[int] = []
            for each in row:
                ends = [place[other] for other in self.below[each]]
                total += sum(len(seen) - bisect_right(seen, end) for end in ends)
                for end in ends:
                    insort(seen, end)
        return total

    def place(self, gap: float) -> None:
        """Compute the x of everything, in rows that are sorted."""
        for row in self.rows:
            self._fit_row(row, [0.0] * len(row), gap)
        for sweep in range(_SWEEPS + 2):
            is_down = sweep % 2 == 0
            for row in self.rows if is_down else reversed(self.rows):
                wanted = []
                for each in row:
                    near = (self.above if is_down else self.below)[each]
                    if sweep >= _SWEEPS or not near:
                        near = [*self.above[each], *self.below[each]]
                    wanted.append(self._pull(each, near))
                self._fit_row(row, wanted, gap)

    def _pull(self, each: int, near: Sequence[int]) -> float:
        """Return where the neighbours want something to be."""
        if not near:
            return self.x[each]
        weights = [self.weights[each] * self.weights[other] for other in near]
        return sum(weight * self.x[other] for weight, other in zip(weights, near, strict=True)) / sum(weights)

    def _fit_row(self, row: Sequence[int], wanted: Sequence[float], gap: float) -> None:
        """Move a row to the places nearest to the wanted ones, by least squares, that keep its order and its gaps.

        Without its gaps a row must only not decrease, which pooling neighbours that do solves exactly.
        """
        offsets = []
        end = 0.0
        for each in row:
            offsets.append(end + self.widths[each] / 2)
            end += self.widths[each] + gap
        pools: list[tuple[float, float, int]] = []  # mean, weight, how many
        for each, place, offset in zip(row, wanted, offsets, strict=True):
            mean, weight, count = place - offset, self.weights[each], 1
            while pools and pools[-1][0] >= mean:
                before, heavy, more = pools.pop()
                mean = (mean * weight + before * heavy) / (weight + heavy)
                weight, count = weight + heavy, count + more
            pools.append((mean, weight, count))
        means = [mean for mean, _, count in pools for _ in range(count)]
        for each, mean, offset in zip(row, means, offsets, strict=True):
            self.x[each] = mean + offset
