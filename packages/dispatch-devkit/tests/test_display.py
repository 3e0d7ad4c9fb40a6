"""Tables, units and fragments, and the objects that notebooks show with them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from markup import read_fragment

import dispatch_core as dc
from dispatch_core.display import Column, DataTable, show_count, show_size, show_time
from dispatch_core.plugins import BackendState
from dispatch_core.plugins.state import Backends
from dispatch_devkit.fragments import to_fragment, to_page
from dispatch_pipelines.capture.capture_stats import CaptureStats
from dispatch_pipelines.record.stats import Stats

HOSTILE = "<script>alert('&\"')</script>\x1b[31m\n\udc80"


@pytest.fixture
def ops(registry, library, toy, meta):
    library.define("add(Tensor x, Tensor y, *, Scalar alpha=1) -> Tensor")
    library.impl("add", lambda x, y, *, alpha: toy.array(x.a + alpha * y.a), toy.key)
    library.impl("add", lambda x, y, *, alpha: meta.array(np.broadcast_shapes(x.shape, y.shape)), meta.key)
    return registry.ops.t


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1000, "1.000 µs"),
        (999_999.9, "1.000 ms"),
        (59_999_999_999, "60.000 s"),
        (3_600e9, "3,600.000 s"),
        (-1500, "-1.500 µs"),
    ],
)
def test_times_have_the_unit_that_keeps_them_short(number, expected):
    assert show_time(number) == expected


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 KiB"),
        (1024 * 1024 - 1, "1.0 MiB"),
        (5 << 30, "5.0 GiB"),
        (1 << 70, "1,048,576.0 PiB"),
        (-2048, "-2.0 KiB"),
    ],
)
def test_sizes_have_the_unit_that_keeps_them_short(number, expected):
    assert show_size(number) == expected


def test_numbers_stand_on_the_right_and_wide_letters_count_twice():
    table = DataTable([Column("name"), Column("calls", show_count, is_number=True)], [("漢字", 1234), ("a", 5)])
    assert str(table).splitlines() == ["name  calls", "----  -----", "漢字  1,234", "a         5"]


def test_a_table_escapes_and_keeps_its_lines():
    table = DataTable([Column("a<b"), Column("n", is_number=True)], [(HOSTILE, None)], left_out="and <2> more")
    assert len(str(table).splitlines()) == 4
    found = read_fragment(table.html())
    assert found.rows == [["a<b", "n"], ["<script>alert('&\"')</script>\\x1b[31m\\n\\udc80", ""]]
    assert "and <2> more" in found.texts


def test_a_long_cell_is_cut_and_its_tip_has_it_all():
    table = DataTable([Column("a")], [("x" * 100,)])
    assert str(table).splitlines()[-1] == "x" * 71 + "…"
    assert f'title="{"x" * 100}"' in table.html()


@pytest.mark.parametrize(("part", "percent"), [(0.25, "25.0"), (7.0, "100.0"), (-1.0, "0.0")])
def test_a_bar_is_as_long_as_its_part_of_the_whole(part, percent):
    table = DataTable([Column("own", has_bar=True)], [(part,)])
    assert f"var(--dispatch-bar) {percent}%," in table.html()


def test_fragments_and_pages_are_well_formed_whatever_they_hold():
    fragment = to_fragment(HOSTILE, [HOSTILE])
    found = read_fragment(fragment)
    assert "script" not in found.tags
    assert found.text.count("<script>alert") == 2
    page = to_page(HOSTILE, fragment)
    assert page.startswith("<!doctype html>")
    assert 'charset="utf-8"' in page
    assert "<script" not in page


def test_backends_are_a_mapping_that_shows_itself_as_a_table():
    states = {
        "cpu": BackendState("cpu", "loaded", "dispatch-backend-cpu", "0.1.0", dispatch_key="CPU"),
        "acme": BackendState("acme", "failed", "acme", "2", reason="ImportError: <none>\nmore"),
    }
    found = Backends(states)
    assert found == states
    assert dict(found) == states
    assert "cpu" in found
    assert len(found) == 2
    lines = repr(found).splitlines()
    assert lines[0].split() == ["device", "state", "key", "provided", "by", "reason"]
    assert lines[3].endswith("ImportError: <none>\\nmore")
    html = read_fragment(found._repr_html_())
    assert html.rows[2] == ["acme", "failed", "", "acme 2", "ImportError: <none>\\nmore"]
    assert "2 devices, 1 loaded" in html.texts
    assert repr(Backends({})) == "no devices are installed"
    assert read_fragment(Backends({})._repr_html_()).rows == []
    with pytest.raises(TypeError):
        found["other"] = states["cpu"]


def test_what_is_installed_is_shown():
    found = dc.backends()
    assert isinstance(found, Backends)
    assert [row[0] for row in read_fragment(found._repr_html_()).rows[1:]] == list(found)


def test_figures_of_a_pipeline_are_shown_with_units_and_reasons():
    stats = Stats()
    stats.recorded, stats.bytes_saved, stats.impl_time = 1234, 3 << 20, 1_500_000
    stats.count_eager("t::odd", "no <rule>")
    stats.boundaries["result"] += 2
    found = read_fragment(stats._repr_html_())
    assert ["recorded", "1,234 (99.9% of calls)"] in found.rows
    assert ["bytes saved", "3.0 MiB"] in found.rows
    assert ["time in kernels", "1.500 ms"] in found.rows
    assert ["t::odd", "1", "no <rule>"] in found.rows
    assert ["result", "2"] in found.rows
    assert "computed for their sizes" not in found.text


def test_figures_of_a_captured_function_are_shown_with_reasons():
    stats = CaptureStats()
    stats.replays = 12345
    stats.eager["under Profiler"] += 2
    stats.misses["another <shape>"] += 1
    assert str(stats).splitlines() == [
        "variants           0",
        "replays            12,345",
        "recordings         0",
        "ran eagerly        2",
        "  under Profiler   2",
        "no variant fitted  1",
        "  another <shape>  1",
    ]
    found = read_fragment(stats._repr_html_())
    assert ["replays", "12,345"] in found.rows
    assert ["1", "another <shape>"] in found.rows
    assert repr(stats) == "<CaptureStats: 0 variants, 12,345 replays, 0 recordings>"


def test_a_pipeline_is_shown_with_the_steps_that_wait_and_computes_nothing(registry, ops, toy):
    x = toy.array([1, 2])
    with dc.pipeline(registry=registry) as pipe:
        made = ops.add(x, x, alpha=3)
        found = read_fragment(pipe._repr_html_())
        stats = pipe.stats()
    assert "open" in found.texts
    assert "1 step waits" in found.texts
    assert "t::add" in found.texts
    assert "svg" in found.tags
    assert (stats.executed, stats.cache_misses, stats.plan_time) == (0, 0, 0)
    closed = read_fragment(pipe._repr_html_())
    assert "closed" in closed.texts
    assert "svg" not in closed.tags
    assert made.result() == [4, 8]


def test_many_steps_that_wait_are_counted_and_not_drawn(registry, ops, toy):
    made = toy.array([1])
    with dc.pipeline(registry=registry) as pipe:
        for _ in range(201):
            made = ops.add(made, made)
        found = read_fragment(pipe._repr_html_())
        graph = pipe.graph()
        shown = read_fragment(graph._repr_html_())
        assert (graph._repr_svg_(), graph.svg()[:4]) == (None, "<svg")
        assert "svg" not in shown.tags and "svg() and save() draw 201 steps" in shown.texts
        assert any("%200 = " in text for text in shown.texts)
    assert "svg" not in found.tags
    assert "graph().svg() draws 201 steps" in found.texts


def test_the_program_of_a_planner_is_shown_as_code_and_as_a_table():
    from dispatch_core.planning import Node, Program, Value

    x, number, made = Value(0, shape=(2,), dtype="float32"), Value(1, float), Value(2, shape=(2,), dtype="<f4>")
    names = [("x", False, None), ("sizes", False, (3,)), ("alpha", True, 1)]
    parameters = tuple(SimpleNamespace(name=name, keyword_only=late, default=value) for name, late, value in names)
    entry = SimpleNamespace(name="t::add", signature=SimpleNamespace(parameters=parameters))
    node = Node(SimpleNamespace(entry=entry), (x, (x, 3), number), ("alpha",), (made, None), (x,))
    program = Program((node,), (x, number, made), True)
    assert str(program).splitlines() == [
        "program(%0, %1, %2):",
        "    %2 = t::add(%0, [%0, 3], alpha=%1)  # %2 (2,) <f4>, kept; writes %0",
    ]
    assert repr(program) == "<Program: 1 nodes, 3 values>"
    found = read_fragment(program._repr_html_())
    assert found.rows[1] == ["0", "t::add", "%0, [%0, 3], alpha=%1", "%2 (2,) <f4>, kept; writes %0"]


def test_an_explanation_is_shown_as_tables(registry, ops, toy):
    found = dc.explain(ops.add, toy.array([1]), toy.array([2]))
    html = read_fragment(found._repr_html_())
    assert html.texts[0] == found.operator
    assert ["key", "outcome", "kernel", "under", "reason", "origin"] in html.rows
    assert any(row[:2] == [found.winner.key, "runs"] for row in html.rows)


def test_an_explanation_of_a_call_that_fails_shows_the_error(registry, ops, toy):
    found = dc.explain(ops.add, HOSTILE, 1)
    html = read_fragment(found._repr_html_())
    assert "raises" in html.text
    assert found.error is not None


def test_a_trace_is_shown_as_a_picture_with_its_code(registry, ops, toy):
    with dc.trace(registry=registry) as t:
        ops.add(toy.array([1]), toy.array([2]))
    found = read_fragment(t._repr_html_())
    assert found.texts[0] == "trace"
    assert "t::add" in found.texts
    assert any("return %2" in text for text in found.texts)
