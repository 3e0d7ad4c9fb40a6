"""Profiles as flame graphs: widths are times, boxes lie inside their callers', and text stays in its box."""

from __future__ import annotations

import os
import random
from itertools import pairwise

import pytest
from markup import read_fragment, read_svg

import dispatch_core as dc
from dispatch_core.keys import DispatchKeySet
from dispatch_core.layers.profile_events import CallEvent
from dispatch_devkit.pictures.flame_graph import Cost, FlameGraph, make_flame_graph

PROFILES = int(os.environ.get("DISPATCH_TEST_PROFILES", "20"))
HOSTILE = "a;b <script>alert('&\"')</script>\x1b[31m\n\udc80"
NAMES = ["aten::mm", "aten::a_very_long_name_of_an_operator.overload", "forward", HOSTILE, "漢字", ""]


def draw_events(random_, depth=0, start=0, thread=1, kind="operator"):
    """Return the events of nested calls with random times, as a profile records them, and their end."""
    events, now = [], start
    most = [6, 30, 3, 2, 2, 2, 0][depth]
    for _ in range(random_.randint(0 if depth else 1, most)):
        now += random_.randint(0, 50)
        event = CallEvent(random_.choice(NAMES), now, depth, DispatchKeySet(), (), thread, kind=kind)
        inside, end = draw_events(random_, depth + 1, now, thread, random_.choice(["operator", "region", "impl"]))
        event.children = sum(each.duration for each in inside if each.depth == depth + 1)
        now = end + random_.choice([0, 1, 1000, 100_000])
        event.duration = now - event.start
        events += [event, *inside]
    return events, now


def check(graph):
    """Check the boxes: inside the picture and their callers' boxes, and none over another in a row."""
    boxes = graph.boxes()
    rows = {}
    for box in boxes:
        assert box.left >= 0 and box.left + box.width <= 1 + 1e-9
        assert box.width > 0
        rows.setdefault(box.row, []).append(box)
    for row, found in rows.items():
        found.sort(key=lambda box: box.left)
        for one, other in pairwise(found):
            assert one.left + one.width <= other.left + 1e-9
        if row:
            for box in found:
                assert any(
                    outer.left - 1e-9 <= box.left and box.left + box.width <= outer.left + outer.width + 1e-9
                    for outer in rows[row - 1]
                )
    return rows


@pytest.mark.parametrize("seed", range(PROFILES))
def test_the_boxes_of_any_profile_are_its_times(seed):
    drawn = random.Random(seed)
    events, _ = draw_events(drawn)
    whole = sum(event.duration for event in events if event.depth == 0)
    names = {1: "MainThread"}
    if seed % 3 == 0:
        more, _ = draw_events(drawn, thread=2)
        events += more
        whole += sum(event.duration for event in more if event.depth == 0)
        names[2] = HOSTILE
    graph = make_flame_graph(drawn.sample(events, len(events)), names)
    assert graph.total == whole
    assert sum(cost.calls for cost in graph.stacks.values()) == len(events)
    lines = graph.folded_stacks().splitlines()
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == whole
    assert len(lines) == len(graph.stacks)
    rows = check(graph)
    if whole:
        assert sum(box.width for box in rows[0]) == pytest.approx(1, abs=0.004 * len(events))
    for width in (300, 960):
        read_svg(graph.svg(width))
    read_fragment(graph.html())


def test_calls_with_the_same_callers_are_one_box():
    graph = FlameGraph(
        {("step",): Cost(1000, 2), ("step", "aten::mm"): Cost(2000, 4), ("step", "aten::t"): Cost(1000, 4)}
    )
    assert [(box.row, box.left, box.width, box.label) for box in graph.boxes()] == [
        (0, 0.0, 1.0, "step"),
        (1, 0.0, 0.5, "mm"),
        (1, 0.5, 0.25, "t"),
    ]
    assert graph.boxes()[0].tip == "step: 4.000 µs, 100.0 %, 1.000 µs of it its own, 2 calls"
    assert 'title="aten::mm: 2.000 µs, 50.0 %, 4 calls"' in graph.html()


def test_what_is_too_narrow_is_one_box_with_their_number():
    costs = {("step", f"aten::op{number}"): Cost(10, 1) for number in range(100)} | {("step",): Cost(99_000, 1)}
    last = FlameGraph(costs).boxes()[-1]
    assert (last.label, last.tip) == ("100 more", "100 more: 1.000 µs, 1.0 %")
    assert len(FlameGraph(costs).boxes()) == 2


def test_the_depth_of_a_picture_is_bounded():
    stack = tuple(f"level {number}" for number in range(1000))
    graph = FlameGraph({stack[:length]: Cost(1, 1) for length in range(1, 1001)})
    boxes = graph.boxes()
    assert len(boxes) == 40
    assert boxes[-1].tip.endswith("calls inside are not drawn")
    assert graph.rows == 1000


def test_an_empty_profile_says_so():
    with dc.profile() as p:
        pass
    assert "no time was measured" in read_fragment(p.flame_graph().html()).texts
    assert read_svg(p.flame_graph().svg()) == []
    assert "dispatch-flame" not in p._repr_html_().partition("</style>")[2]


def test_a_profile_shows_and_saves_its_flame_graph(registry, library, tmp_path):
    library.define("leaf(int x) -> int")
    library.define("twice(int x) -> int")
    library.impl("leaf", lambda x: x + 1)
    library.impl("twice", lambda x: registry.ops.t.leaf(registry.ops.t.leaf(x)))
    with dc.profile(registry=registry) as p, p.region("<all>"):
        registry.ops.t.twice(1)
    graph = p.flame_graph()
    assert [(stack, cost.calls) for stack, cost in graph.stacks.items()] == [
        (("<all>",), 1),
        (("<all>", "t::twice"), 1),
        (("<all>", "t::twice", "t::leaf"), 2),
    ]
    assert graph.total == sum(event.self_duration for event in p.events)
    for html in (p._repr_html_(), graph._repr_html_()):
        assert "<all>" in read_fragment(html).texts
    p.export_stacks(tmp_path / "stacks.txt")
    assert (tmp_path / "stacks.txt").read_text() == graph.folded_stacks() + "\n"
    for name, start in {"a.svg": "<svg ", "a.html": "<!doctype html>", "a.folded": "<all> "}.items():
        assert graph.save(tmp_path / name).read_text(encoding="utf-8").startswith(start)
    with pytest.raises(dc.ArgumentError, match=r"'\.png'.*says nothing"):
        graph.save(tmp_path / "a.png")
