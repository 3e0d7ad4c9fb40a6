"""A pipeline's pending program: printed, drawn, saved, and left as it was."""

from __future__ import annotations

import enum
import gc
import re
from time import perf_counter
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import dispatch_core as dc
from dispatch_devkit.fragments import to_page
from dispatch_devkit.pictures.layered_layout import arrange, layers_of

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def ops(registry, library, toy, meta):
    made, shape = toy.array, meta.array

    def define(schema, kernel, rule):
        name = library.define(schema)
        library.impl(name, kernel, toy.key)
        library.impl(name, rule, meta.key)

    define(
        "add.Tensor(Tensor x, Tensor y, *, Scalar alpha=1) -> Tensor",
        lambda x, y, *, alpha: made(x.a + alpha * y.a),
        lambda x, y, *, alpha: shape(np.broadcast_shapes(x.shape, y.shape)),
    )
    define("exp(Tensor x) -> Tensor", lambda x: made(np.exp(x.a, order="C")), lambda x: shape(x.shape))
    define("add_(Tensor(a!) x, Tensor y) -> Tensor(a!)", lambda x, y: (x.a.__iadd__(y.a), x)[1], lambda x, y: x)
    define("t(Tensor(a) x) -> Tensor(a)", lambda x: view(made, x.a.T), lambda x: shape(x.shape[::-1], (1, x.shape[0])))
    define("split(Tensor x) -> Tensor[]", lambda x: [made(a) for a in x.a], lambda x: [shape(x.shape[1:])] * x.shape[0])
    define("cat(Tensor[] xs) -> Tensor", lambda xs: made([x.a for x in xs]), lambda xs: shape((len(xs), *xs[0].shape)))
    define(
        "minmax(Tensor x) -> (Tensor, Tensor)", lambda x: (made(x.a.min()), made(x.a.max())), lambda x: (shape(()),) * 2
    )
    define("with_name(Tensor x, Any name) -> Tensor", lambda x, name: x, lambda x, name: shape(x.shape))
    return registry.ops.t


def view(made, a):
    found = made(0)
    found.a = a
    return found


def lines(graph):
    """Return the listing without the notes' places."""
    return [re.sub(r", test_pipelines_show\.py:\d+$|  +(?=#)", "", line).strip() for line in str(graph).splitlines()]


def texts(svg):
    return [element.text for element in ET.fromstring(svg).iter(f"{SVG}text")]


def test_the_program_is_printed_as_code_with_results_and_lines_of_calls(registry, ops, toy):
    x, y = toy.array([[1, 2, 3], [4, 5, 6]]), toy.array([1, 2, 3])
    with dc.pipeline(registry=registry) as pipe:
        total = ops.add.Tensor(x, y, alpha=2)
        graph = pipe.graph()
    here = test_the_program_is_printed_as_code_with_results_and_lines_of_calls.__code__
    place = f"test_pipelines_show.py:{here.co_firstlineno + 3}"
    assert str(graph).splitlines() == [
        "pipeline(%0, %1):",
        "    %0                                   # (2, 3) float64",
        "    %1                                   # (3,) float64",
        f"    %2 = t::add.Tensor(%0, %1, alpha=2)  # (2, 3) float64, {place}",
        "    return %2",
    ]
    assert graph.code == str(graph)
    assert total.result() == [[3, 6, 9], [6, 9, 12]]


def test_views_writes_held_values_and_dropped_steps_are_named(registry, ops, toy):
    given = toy.array([[1, 2], [3, 4]])
    with dc.pipeline(registry=registry) as pipe:
        x = ops.exp(given)
        held = ops.exp(x)
        turned = ops.t(held)
        ops.add_(turned, x)
        ops.add_(x, held)
        ops.exp(ops.exp(x))
        del turned
        graph = pipe.graph()
    assert lines(graph) == [
        "pipeline(%0):",
        "%0# (2, 2) float64",
        "%1 = t::exp(%0)# (2, 2) float64",
        "%2 = t::exp(%1)# (2, 2) float64",
        "%3 = t::t(%2)# (2, 2) float64, view of %2",
        "t::add_(%3, %1)# writes %3 (2, 2) float64, memory of %2",
        "t::add_(%1, %2)# writes %1 (2, 2) float64",
        "%4 = t::exp(%1)# (2, 2) float64, dropped",
        "%5 = t::exp(%4)# (2, 2) float64, dropped",
        "return %1, %2",
    ]
    assert [*map(graph.is_output, range(7))] == [True, True, False, True, True, False, False]
    assert repr(graph) == "<PipelineGraph: 7 steps, 1 input, 2 to be dropped>"


def test_lists_several_results_and_constants_are_printed(registry, ops, toy):
    x = toy.array([[1, 2], [3, 4]])
    thing = object()
    with dc.pipeline(registry=registry) as pipe:
        first, second = ops.split(x)
        joined = ops.cat([second, first])
        low, high = ops.minmax(joined)
        named = ops.with_name(low, thing)
        graph = pipe.graph()
        del first, second, high
    assert [line.partition("#")[0] for line in lines(graph)][2:-1] == [
        "[%1, %2] = t::split(%0)",
        "%3 = t::cat([%2, %1])",
        "%4, %5 = t::minmax(%3)",
        "%6 = t::with_name(%4, constants[0])",
    ]
    assert graph.program.constants == (thing,)
    assert named.result().a == 1


def test_looking_at_a_program_changes_nothing_about_it(registry, ops, toy):
    x = toy.array([1, 2])
    with dc.pipeline(registry=registry) as pipe:
        kept, dropped = ops.exp(x), ops.add.Tensor(x, x)
        first = pipe.graph()
        first.svg()
        del dropped
        second = pipe.graph()
    assert first.dropped == set()
    assert second.dropped == {1}
    assert pipe.stats().dropped == 1
    assert kept.result() == np.exp([1, 2])
    gc.collect()
    assert str(second).count("\n") == 4


def test_results_of_steps_that_have_run_are_inputs_of_the_rest(registry, ops, toy):
    with dc.pipeline(registry=registry) as pipe:
        first = ops.exp(toy.array([0.0]))
        second = ops.add.Tensor(first, first)
        first.result()
        graph = pipe.graph()
    assert [line.partition("#")[0] for line in lines(graph)] == [
        "pipeline(%0):",
        "%0",
        "%1 = t::add.Tensor(%0, %0)",
        "return %1",
    ]
    assert second.result() == [2]


def test_the_program_of_an_empty_pipeline_is_empty(registry):
    graph = dc.pipeline(registry=registry).graph()
    assert str(graph) == "pipeline():\n    return"
    assert graph.edges() == []
    assert texts(graph.svg()) == ["0 steps pending, 0 to be dropped"]


def test_a_program_without_observable_steps_is_shown_as_dropped(registry, ops, toy):
    with dc.pipeline(registry=registry) as pipe:
        ops.add(toy.array(1.0), toy.array(2.0))
        assert "dropped" in str(pipe.graph())


def test_the_program_runs_again_as_a_graph_of_the_tracer(registry, ops, toy):
    x = toy.array([[1, 2], [3, 4]])
    with dc.pipeline(registry=registry) as pipe:
        made = ops.add.Tensor(ops.t(ops.exp(x)), x, alpha=3)
        graph = pipe.graph()
    fresh = toy.array([[0, 1], [2, 3]])
    assert graph.program.replay(fresh) == (np.exp(fresh.a).T + 3 * fresh.a,)
    assert "v3 = ops.t.add.Tensor(v2, v0, alpha=3)" in graph.program.code
    assert made.result() == np.exp(x.a).T + 3 * x.a


def test_an_edge_comes_from_the_last_step_that_wrote_to_the_memory(registry, ops, toy):
    x = toy.array([[1, 2], [3, 4]])
    with dc.pipeline(registry=registry) as pipe:
        held = ops.exp(x)
        turned = ops.t(held)
        ops.add_(turned, x)
        read = ops.exp(held)
        again = ops.exp(turned)
        graph = pipe.graph()
    assert [(edge.source, edge.target, edge.kind) for edge in graph.edges()] == [
        (None, 0, "data"),
        (0, 1, "view"),
        (1, 2, "write"),
        (None, 2, "data"),
        (2, 3, "view"),
        (2, 4, "data"),
    ]
    assert read.result() == again.result().a.T


@pytest.fixture
def fused(registry, ops, toy):
    """A program with a group of three, and its graph."""
    x, y = toy.array([1, 2]), toy.array([3, 4])
    with dc.pipeline(registry=registry) as pipe:
        before = ops.exp(x)
        made = ops.exp(ops.add.Tensor(ops.add.Tensor(before, y), y))
        after = ops.add.Tensor(made, before)
        yield pipe, pipe.graph(groups=[pipe._session.steps[1:4]])
    assert after.result().a.shape == (2,)


def test_groups_are_clusters_in_every_drawing(fused):
    _, graph = fused
    assert graph.groups == ((1, 2, 3),)
    assert [("group 0" in line) for line in str(graph).splitlines()] == [*[False] * 4, *[True] * 3, False, False]
    assert "fused, 3 steps" in texts(graph.svg())
    assert "subgraph cluster_0 {" in graph.dot()
    assert "subgraph g0 [fused]" in graph.mermaid()


def test_a_group_of_steps_that_are_done_or_grouped_is_refused(fused, ops, toy):
    pipe, _ = fused
    step = pipe._session.steps[0]
    with pytest.raises(dc.ArgumentError, match=r"graph: <Step t::exp> of group 1 is in group 0 already\nHint: groups"):
        pipe.graph(groups=[[step], [step]])
    pipe.flush()
    with pytest.raises(dc.ArgumentError, match=r"graph: <Step t::exp done> of group 0 is not pending"):
        pipe.graph(groups=[[step]])


def test_a_group_that_a_value_leaves_and_comes_back_to_is_drawn_as_steps(registry, ops, toy):
    x = toy.array([1, 2])
    with dc.pipeline(registry=registry) as pipe:
        first = ops.exp(x)
        between = ops.exp(first)
        last = ops.add.Tensor(first, between)
        steps = pipe._session.steps
        graph = pipe.graph(groups=[[steps[0], steps[2]]])
    assert "fused, 2 steps" not in texts(graph.svg())
    assert texts(graph.svg()).count("t::exp") == 2
    assert last.result().a.shape == (2,)


def test_the_picture_names_steps_values_shapes_and_dtypes(fused):
    _, graph = fused
    found = texts(graph.svg())
    assert found[0] == "5 steps pending, 0 to be dropped"
    assert found.count("t::add.Tensor") == 3
    assert {"input", "seen from outside", "fused", "%3 (2,) float64"} <= set(found)
    assert graph._repr_svg_() == graph.svg()
    assert graph.svg() in graph._repr_html_()


def test_views_and_writes_are_dashed_and_dropped_steps_are_pale(registry, ops, toy):
    given = toy.array([[1, 2], [3, 4]])
    with dc.pipeline(registry=registry) as pipe:
        x = ops.exp(given)
        ops.add_(x, ops.t(ops.exp(x)))
        ops.exp(x)
        graph = pipe.graph()
    root = ET.fromstring(graph.svg())
    dashed = [each for each in root.iter(f"{SVG}g") if "stroke-dasharray" in each.attrib]
    assert [len(each) for each in dashed] == [1, 1]
    assert "dropped" in texts(graph.svg())
    assert graph.mermaid().count("-.->") == 2
    assert graph.dot().count("style=dashed, color") == 2


def boxes(svg):
    """Return the rectangles of the drawing's boxes, in the picture's coordinates, by the text of their first line."""
    found = []

    def visit(element, x, y):
        moved = re.match(r"translate\(([\d.-]+) ([\d.-]+)\)", element.get("transform", ""))
        if moved:
            x, y = x + float(moved[1]), y + float(moved[2])
        rect, text = element.find(f"{SVG}rect"), element.find(f"{SVG}text")
        if element.get("text-anchor") == "middle":
            found.append((text.text, x, y, float(rect.get("width")), float(rect.get("height"))))
        for child in element:
            visit(child, x, y)

    visit(ET.fromstring(svg), 0.0, 0.0)
    return found


def test_boxes_stand_apart_inside_the_picture_and_inside_their_group(fused):
    _, graph = fused
    svg = graph.svg()
    root = ET.fromstring(svg)
    found = boxes(svg)
    assert len(found) == 2 + 5 + 1 + 3  # inputs, steps, the group, and its arguments
    group = next(box for box in found if box[0].startswith("fused"))
    for index, (_, x, y, width, height) in enumerate(found):
        assert x >= 0 and x + width <= float(root.get("width"))
        assert y >= 0 and y + height <= float(root.get("height"))
        for other in found[index + 1 :]:
            if group in (found[index], other):
                continue
            _, left, top, wide, high = other
            assert x + width <= left or left + wide <= x or y + height <= top or top + high <= y
    inside = [
        box for box in found if group[1] < box[1] < group[1] + group[3] and group[2] < box[2] < group[2] + group[4]
    ]
    assert len(inside) == 3 + 3


class Odd(enum.Enum):
    ONE = 1

    def __repr__(self):
        return "two\nlines \x07"


def test_a_call_stays_on_its_line(registry, ops, toy):
    with dc.pipeline(registry=registry) as pipe:
        made = ops.with_name(toy.array([1]), Odd.ONE)
        graph = pipe.graph()
    assert r"t::with_name(%0, two\nlines \x07)" in graph.code
    ET.fromstring(graph.svg())
    assert made.result() is not None


def test_markup_is_escaped(registry, ops, toy):
    name = '<b>&"quoted"\\ \x01\n]]> \udc80 #end'
    source = f"def call(ops, x):\n    return ops.with_name(ops.exp(x), {name!r})\n"
    space = {}
    exec(compile(source, "/tmp/<i>&\x02\udc80.py", "exec"), space)
    with dc.pipeline(registry=registry) as pipe:
        made = space["call"](ops, toy.array([1]))
        graph = pipe.graph()
    tips = [element.text for element in ET.fromstring(graph.svg()).iter(f"{SVG}title")]
    assert any(repr(name) in (tip or "") and r"<i>&\x02\udc80.py:2" in tip for tip in tips)
    for form in (graph.svg(), graph.html(), graph.dot(), graph.mermaid(), graph.code):
        form.encode()
        assert not re.search(r"[\x00-\x09\x0b-\x1f]", form)
    assert "<i>" not in graph.html()
    assert made.result() is not None


def test_saving_writes_the_form_that_the_suffix_names(fused, tmp_path):
    _, graph = fused
    forms = {
        "x.svg": graph.svg(),
        "x.dot": graph.dot(),
        "x.GV": graph.dot(),
        "x.mmd": graph.mermaid(),
        "x.mermaid": graph.mermaid(),
        "x.html": to_page("pipeline", graph.html()),
        "x.txt": graph.code,
    }
    for name, expected in forms.items():
        assert graph.save(str(tmp_path / name)) == tmp_path / name
        assert (tmp_path / name).read_text(encoding="utf-8").rstrip("\n") == expected.rstrip("\n")


@pytest.mark.parametrize("name", ["x.png", "x"])
def test_saving_refuses_other_suffixes(fused, tmp_path, name):
    with pytest.raises(dc.ArgumentError, match=r"(?s)the suffix '(\.png|)' of .*Hint: suffixes are \.svg, \.dot"):
        fused[1].save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", ["chain", "wide", "back"])
def test_a_thousand_steps_are_drawn(registry, ops, toy, form):
    x = toy.array([1.0])
    with dc.pipeline(registry=registry) as pipe:
        if form == "chain":
            made = x
            for _ in range(1000):
                made = ops.exp(made)
        elif form == "wide":
            made = ops.cat([ops.exp(x) for _ in range(1000)])
        else:
            passed = [x]
            for _ in range(500):
                passed.append(ops.exp(passed[-1]))
            made = x
            for each in reversed(passed):
                made = ops.add.Tensor(made, each)
            del passed, each
        started = perf_counter()
        graph = pipe.graph()
        root = ET.fromstring(graph.svg())
        graph.dot(), graph.mermaid(), graph.code
        # A second as a rule; the limit only tells that it does not explode.
        assert perf_counter() - started < 30
        del made
    assert float(root.get("width")) < 20_000


def test_layers_are_below_their_inputs_and_cycles_have_none():
    assert layers_of(3, [(0, 1), (1, 2)]) == [0, 1, 2]
    assert layers_of(4, [(0, 1), (1, 2), (2, 1), (2, 3)]) == [0, None, None, None]


def test_long_edges_pass_a_layer_straight_and_beside_its_boxes():
    sizes = [(50, 20), (200, 60), (50, 20)]
    layout = arrange(sizes, [(0, 1), (1, 2), (0, 2)], across=20, down=30)
    inside = [x for x, y in layout.routes[2] if abs(y - layout.centres[1][1]) <= 30]
    assert len(set(inside)) == 1
    assert abs(inside[0] - layout.centres[1][0]) >= 100
    assert layout.height == 20 + 30 + 60 + 30 + 20


def test_no_boxes_make_an_empty_drawing():
    layout = arrange([], [], across=1, down=1)
    assert (layout.centres, layout.routes, layout.width, layout.height) == ([], [], 0, 0)
