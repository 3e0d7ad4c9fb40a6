"""Drawings of traces."""

from __future__ import annotations

import pytest

import dispatch_core as dc


@pytest.fixture
def ops(registry, library, toy):
    made = toy.array
    schemas = {
        "add(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor": lambda a, b, *, alpha: made(a.a + alpha * b.a),
        "add_(Tensor(a!) self, Tensor other) -> Tensor(a!)": lambda a, b: (a.a.__iadd__(b.a), a)[1],
        "first(Tensor(a) self) -> Tensor(a)": first,
        "item(Tensor self) -> Scalar": lambda a: float(a.a.ravel()[0]),
    }
    for schema, kernel in schemas.items():
        library.impl(library.define(schema), kernel, toy.key)
    return registry.ops.t


def first(a):
    view = type(a)(0)
    view.a = a.a[:1]
    return view


@pytest.fixture(params=["raw", "wrapped"])
def tensor(request, toy, tensors):
    """Make raw arrays, or the same in a frontend's tensors."""
    return toy.array if request.param == "raw" else lambda value: tensors.wrap(toy.array(value))


def test_a_trace_is_drawn_with_shapes_views_and_writes(registry, ops, tensor, tmp_path):
    x, y, total = tensor([1, 2]), tensor([3, 4]), tensor([0])
    with dc.trace(registry=registry) as t:
        z = ops.add(x, y)
        ops.add_(total, ops.first(z))
        ops.item(z)
        t.returns(z, total)
    picture = t.picture()
    assert repr(picture) == "<Picture: 4 steps, 3 inputs>"
    assert picture.code.splitlines() == [
        "trace(%0, %1, %4):",
        "    %0                            # (2,) float64",
        "    %1                            # (2,) float64",
        "    %4                            # (1,) float64",
        "    %2 = t::add(%0, %1, alpha=1)  # (2,) float64",
        "    %3 = t::first(%2)             # (1,) float64, view of %2",
        "    t::add_(%4, %3)               # writes %4 (1,) float64",
        "    %5 = t::item(%2)              # float",
        "    return %2, %4",
    ]
    assert [
        (step.name, picture.is_output(index), [*map(str, step.written)], [*map(str, step.views)])
        for index, step in enumerate(picture.steps)
    ] == [
        ("t::add", True, [], []),
        ("t::first", False, [], ["%2"]),
        ("t::add_", True, ["%4"], []),
        ("t::item", False, [], []),
    ]
    assert picture.values[3].place == 2
    assert [(e.value, e.source, e.target, e.kind) for e in picture.edges()] == [
        (0, None, 0, "data"),
        (1, None, 0, "data"),
        (2, 0, 1, "view"),
        (4, None, 2, "write"),
        (3, 1, 2, "data"),
        (2, 0, 3, "data"),
    ]
    for text in (t.svg(), t._repr_svg_(), t._repr_html_(), t.dot(), t.mermaid()):
        assert "t::add_" in text or "t#58;#58;add_" in text
    assert "4 steps, 3 inputs" in t.svg()
    assert t.save(tmp_path / "graph.txt").read_text() == picture.code + "\n"
    with pytest.raises(dc.ArgumentError, match=r"trace\.save: the suffix '\.png'"):
        t.save(tmp_path / "graph.png")
