"""Drawings of traces."""

from __future__ import annotations

import pytest

import dispatch_core as dc


def show(array, a):
    """Return an array that shows NumPy's ``a`` as it is."""
    array.a = a
    return array


@pytest.fixture
def ops(registry, library, toy):
    """A dozen operators on toy arrays; one composite."""
    made = toy.array
    schemas = {
        "add(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor": lambda a, b, *, alpha: made(a.a + alpha * b.a),
        "add_(Tensor(a!) self, Tensor other) -> Tensor(a!)": lambda a, b: (a.a.__iadd__(b.a), a)[1],
        "add.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)": add_out,
        "cat(Tensor[] xs) -> Tensor": lambda xs: made([v for x in xs for v in x.a.ravel()]),
        "pick(Tensor?[] xs, Tensor? y=None) -> Tensor": lambda xs, y: next(x for x in (*xs, y) if x is not None),
        "split(Tensor(a) self) -> Tensor(a)[]": lambda a: [show(made(0), a.a[i, ...]) for i in range(len(a.a))],
        "minmax(Tensor self) -> (Tensor low, Tensor high)": lambda a: (made(a.a.min()), made(a.a.max())),
        "first(Tensor(a) self) -> Tensor(a)": first,
        "item(Tensor self) -> Scalar": lambda a: float(a.a.ravel()[0]),
        "zero_all_(Tensor(a!)[] xs) -> ()": lambda xs: [x.a.fill(0) for x in xs] and None,
        "sizes(Tensor self) -> int[]": lambda a: list(a.a.shape),
        "with_options(Tensor self, *, Any mode, Device? device=None, Any? state=None) -> Tensor": with_options,
        "maybe(Tensor self, bool yes) -> Tensor?": lambda a, yes: a if yes else None,
    }
    for schema, kernel in schemas.items():
        library.impl(library.define(schema), kernel, toy.key)
    library.define("full(int n, *, Device? device=None) -> Tensor")
    library.impl("full", lambda n, *, device: made([n]), toy.key)
    library.define("put(Any data, *, Device? device=None) -> Tensor")
    library.impl("put", lambda data, *, device: data, toy.key)
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: registry.ops.t.add(x, x))
    library.define("same(Tensor x) -> Tensor")
    library.impl("same", lambda x: x)
    return registry.ops.t


def add_out(a, b, *, out):
    out.a[...] = a.a + b.a
    return out


def first(a):
    view = type(a)(0)
    view.a = a.a[:1]
    return view


def with_options(a, *, mode, device, state):
    return a


@pytest.fixture(params=["raw", "wrapped"])
def tensor(request, toy, tensors):
    """Make raw arrays, or the same in a frontend's tensors."""
    return toy.array if request.param == "raw" else lambda value: tensors.wrap(toy.array(value))


def data(value):
    if isinstance(value, list | tuple):
        return type(value)(map(data, value))
    found = getattr(value, "_dispatch_data", value)
    return found.a.tolist() if hasattr(found, "a") else found


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
