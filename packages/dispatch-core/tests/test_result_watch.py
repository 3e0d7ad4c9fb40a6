"""Kernels' results are compared with the answer of the operator's shape rule."""

from __future__ import annotations

import re

import numpy as np
import pytest

import dispatch_core as dc
from dispatch_core.arrays.access import to_data
from dispatch_core.calls import conformance, lazy_function
from dispatch_core.operators import result_watch

pytestmark = pytest.mark.usefixtures("meta")
FOLDER = re.escape(__file__)


def add_rule(library, name, rule):
    """Register an operator's shape rule, a function of arrays."""

    def fake(*args, **kwargs):
        return rule(*map(to_data, args), **kwargs)

    dc.register_fake(f"{library.ns}::{name}", fake, lib=library)


@pytest.fixture
def define(registry, library, toy):
    """Define ``t::f`` with a kernel for the toy backend, and a shape rule if one is given."""

    def define(schema, kernel, rule=None, **options):
        library.define(f"f{schema}", **options)
        library.impl("f", kernel, toy.key)
        if rule is not None:
            add_rule(library, "f", rule)
        return registry.ops.t.f.default

    return define


def same(x, *rest, **options):
    return type(x)(x.shape, x.strides, x.dtype)


def show_array(array, a):
    """Return an array that shows NumPy's ``a`` as it is."""
    found = array(0)
    found.a = a
    return found


WRONG = [
    ("(Tensor x) -> Tensor", lambda x: type(x)(x.a[0]), same, r"the result has shape \(3,\), where .* says \(2, 3\)"),
    ("(Tensor x) -> Tensor", lambda x: type(x)(x.a[None]), same, r"the result has shape \(1, 2, 3\), where "),
    (
        "(Tensor x) -> Tensor",
        lambda x: show_array(type(x), x.a.astype("f4")),
        same,
        "the result has dtype float32, where .* says float64",
    ),
    (
        "(Tensor x) -> Tensor",
        lambda x: show_array(type(x), x.a.copy("F") if x.a.ndim == 2 else x.a + 0),
        same,
        r"the result has strides \(1, 2\), where .* says \(3, 1\)",
    ),
    (
        "(Tensor(a) x) -> Tensor(a)",
        lambda x: show_array(type(x), x.a.T),
        lambda x: type(x)((3, 2)),
        r"the result has strides \(1, 3\), where .* says \(2, 1\)",
    ),
    (
        "(Tensor x) -> (Tensor, Tensor)",
        lambda x: (type(x)(x.a), type(x)(x.a.sum())),
        lambda x: (same(x), same(x)),
        r"result 1 has shape \(\), where .* says \(2, 3\)",
    ),
    (
        "(Tensor x) -> Tensor[]",
        lambda x: [type(x)(row) for row in x.a],
        lambda x: [type(x)((3,)), type(x)((2,))],
        r"the result has shape \(3,\), where .* says \(2,\)",
    ),
    ("(Tensor x) -> Tensor[]", lambda x: [x], lambda x: [same(x)] * 2, "the result has length 1, where .* says 2"),
    (
        "(Tensor(a!) x) -> Tensor(a!)",
        lambda x: setattr(x, "a", x.a[:1]),
        lambda x: x,
        r"the result has shape \(1, 3\), where .* says \(2, 3\)",
    ),
    ("(Tensor x) -> float", lambda x: x.a, same, "result 0 must be float, not "),
    ("(Tensor x) -> Scalar", lambda x: x, same, "result 0 must be Number, not "),
]


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize(("schema", "kernel", "rule", "text"), WRONG)
def test_a_kernel_that_returns_something_else_is_named(define, toy, tensors, schema, kernel, rule, text, wrapped):
    op = define(schema, kernel, rule)
    x = toy.array([[1, 2, 3], [4, 5, 6]])
    with pytest.raises(dc.KernelResultError) as caught:
        op(tensors.wrap(x) if wrapped else x)
    first, second, hint = str(caught.value).splitlines()
    assert re.match(f"t::f: {text}", first)
    assert re.fullmatch(
        rf"Kernel for Toy: .*<lambda> \({FOLDER}:\d+\), registered by .*{FOLDER}:\d+; called with float64\[\d, 3\]",
        second,
    )
    assert hint == f"Hint: {caught.value.hint}"


NO_ARRAYS = [
    ("(Tensor x) -> Tensor", None, "the kernel for Toy returned builtins.NoneType where the schema promises a Tensor "),
    ("(Tensor x) -> Tensor", [1], "the kernel for Toy returned builtins.list where the schema promises a Tensor "),
    (
        "(Tensor(a) x) -> Tensor(a)",
        1.0,
        "the kernel for Toy returned builtins.float where the schema promises a Tensor ",
    ),
    ("(Tensor x) -> (Tensor, Tensor)", [1], "the kernel returned 1 results where the schema promises 2 results"),
    ("(Tensor x) -> (Tensor, Tensor)", None, "the kernel returned NoneType where the schema promises 2 results"),
]


@pytest.mark.parametrize(("schema", "result", "text"), NO_ARRAYS)
def test_a_kernel_that_returns_no_array_is_named(define, toy, schema, result, text):
    op = define(schema, lambda x: result, same)
    with pytest.raises(dc.KernelResultError) as caught:
        op(toy.array([[1, 2, 3]]))
    first, second = str(caught.value).splitlines()[:2]
    assert first.startswith(f"t::f: {text}")
    assert re.match(rf"Kernel for Toy: .*<lambda> \({FOLDER}:\d+\), registered by ", second)


ANSWERS = [
    ("shape", [2, 3], "gave [2, 3], which is not a tuple of Python's ints"),
    ("shape", None, "gave None, which is not a tuple of Python's ints"),
    ("shape", ("2", 3), "gave ('2', 3), which is not a tuple of Python's ints"),
    ("strides", [3, 1], "gave [3, 1], which is not a tuple with an int for each dimension"),
    ("strides", None, "gave None, which is not a tuple with an int for each dimension"),
    ("strides", (1,), "gave (1,), which is not a tuple with an int for each dimension"),
    ("dtype", None, "gave None, of type builtins.NoneType, which is no builtins.str"),
    ("dtype", 6, "gave 6, of type builtins.int, which is no builtins.str"),
]


@pytest.mark.parametrize(("what", "answer", "text"), ANSWERS)
def test_a_reader_whose_answer_nobody_can_use_is_named(make_backend, what, answer, text):
    slip = make_backend("slip", **{what: lambda array: answer})
    with pytest.raises(dc.BackendError) as caught:
        conformance.compare(slip.array(np.ones((2, 3))), (2, 3), (3, 1), "float64")
    assert f"device 'slip': ArrayType.{what} {text}, for an array of type " in str(caught.value)


def test_what_does_not_matter_is_not_compared(define, toy):
    op = define("(Tensor x) -> Tensor", lambda x: show_array(type(x), x.a.copy("F")), same)
    for values in ([[1, 2, 3]], [[1], [2]], np.empty((2, 0, 3)), 1):
        assert dc.shape(op(toy.array(values))) == np.shape(values)


def test_a_scalar_of_numpy_is_compared_as_the_array_that_is_made_of_it(define, toy):
    op = define("(Tensor x) -> Tensor", lambda x: x.a.sum(), lambda x: type(x)(()))
    assert op(toy.array([1, 2])) == 3


def test_what_is_no_array_is_refused_as_without_a_rule(define, toy):
    op = define("(Tensor x) -> Tensor", lambda x: "text", same)
    with pytest.raises(dc.KernelResultError, match=r"t::f: the kernel for Toy returned builtins\.str"):
        op(toy.array([1]))


@pytest.mark.parametrize(
    "rule",
    [
        None,
        lambda x: (_ for _ in ()).throw(NotImplementedError("depends on values")),
        lambda x: (_ for _ in ()).throw(ValueError("stricter than the kernel")),
        lambda x: None,
        lambda x: type(x)((None, 3), (3, 1)),
    ],
)
def test_nothing_is_compared_where_nothing_is_known(define, toy, rule):
    op = define("(Tensor x) -> Tensor", lambda x: type(x)(x.a[:1]), rule)
    assert op(toy.array([[1, 2, 3], [4, 5, 6]])) == [[1, 2, 3]]


def test_what_is_known_of_an_unknown_size_is_compared(define, toy):
    op = define("(Tensor x) -> Tensor", lambda x: type(x)(x.a[0]), lambda x: type(x)((None, 3), (3, 1)))
    with pytest.raises(dc.KernelResultError, match=r"shape \(3,\), where .* says \(None, 3\)"):
        op(toy.array([[1, 2, 3], [4, 5, 6]]))


def test_each_dtype_and_rank_is_compared(define, toy):
    op = define("(Tensor x) -> Tensor", lambda x: type(x)(x.a[0] if x.a.ndim == 3 else x.a), same)
    for _ in range(result_watch._QUIET // 2):
        op(toy.array([1, 2]))
        op(toy.array([[1, 2]]))
    with pytest.raises(dc.KernelResultError):
        op(toy.array([[[1, 2]]]))
    half = show_array(toy.array, np.ones(2, "f2"))
    with pytest.raises(dc.KernelResultError, match=r"dtype float64, where .* says float16"):
        op(half)


def test_a_watch_takes_itself_out(define, toy, tensors, monkeypatch):
    asked = []
    op = define("(Tensor x) -> Tensor", lambda x: type(x)(x.a + 1), lambda x: asked.append(x) or same(x))
    x = tensors.wrap(toy.array([1, 2]))
    for _ in range(result_watch._QUIET):
        op(x)
    assert len(asked) == result_watch._QUIET
    op(x)
    assert op(x)._dispatch_data == [2, 3]
    assert len(asked) == result_watch._QUIET + 1
    runner = op._entry.call_table[x._dispatch_mask]
    if op._entry.registry.engine is not dc.calls.reference:
        # The same runs from now on as if no call had been watched: the kernel stands in the operator's own code.
        for _ in range(lazy_function.FIRST_CALLS + 1):
            assert runner(x)._dispatch_data == op(x)._dispatch_data == [2, 3]
        assert runner.__globals__["__kernel"] is op._entry.kernels[toy.key]
        assert op._entry.specialized_mask == x._dispatch_mask
    op._entry.invalidate()
    op(x)
    assert len(asked) == result_watch._QUIET + 2
    monkeypatch.setattr(result_watch.ALWAYS, "_on", True)
    for _ in range(2 * result_watch._QUIET):
        op(x)
    assert len(asked) == 3 * result_watch._QUIET + 2


@pytest.mark.parametrize("decline", [lambda x: NotImplemented, lambda x: x.nowhere], ids=["declines", "raises"])
def test_a_watch_of_what_never_serves_a_call_takes_itself_out(registry, library, toy, decline):
    library.define("f(Tensor x) -> Tensor")
    add_rule(library, "f", same)
    library.impl("f", lambda x: x, "CompositeImplicitAutograd")
    library.short_way("f", decline, toy.key)
    op, x, y = registry.ops.t.f.default, toy.array([1, 2]), toy.array([[1, 2]])
    for _ in range(result_watch._QUIET // 2):
        assert (op(x), op(y)) == (x, y)
    runner = op._entry.call_table[toy.key.value]
    assert op._entry.tables.traits_of(runner).is_watched == (op._entry.registry.engine is not dc.calls.reference)
    for _ in range(2):
        assert op(x) is x
    assert not op._entry.tables.traits_of(runner).is_watched


def test_each_kernel_runs_once_for_a_call(registry, library, toy):
    ran = []
    library.define("f(Tensor x, *, Scalar alpha=1) -> Tensor")
    library.impl("f", lambda x, *, alpha: ran.append(alpha) or type(x)(x.a * alpha), toy.key)
    special = lambda x: ran.append("covered") or type(x)(x.a if x.a.ndim == 1 else x.a[0])
    library.impl("f", special, toy.key, when=("alpha", 1))
    add_rule(library, "f", same)
    op = registry.ops.t.f
    assert (op(toy.array([1])), op(toy.array([1]), alpha=2)) == ([1], [2])
    assert ran == ["covered", 2]
    with pytest.raises(dc.KernelResultError) as caught:
        op(toy.array([[1]]))
    assert f"<lambda> ({__file__}:{special.__code__.co_firstlineno}), registered by" in str(caught.value)


def test_a_rule_is_given_no_generator_and_runs_below_every_layer(define, registry, toy):
    drawn, seen = [], []

    def rule(x, generator=None):
        seen.append((generator, dc.apply_masks(0)))
        return same(x)

    op = define(
        "(Tensor x, *, Generator? generator=None) -> Tensor",
        lambda x, *, generator: drawn.append(generator) or type(x)(x.a),
        rule,
    )
    generator = type("Generator", (), {"__schema_type__": "Generator", "device": dc.Device("toy")})()
    with dc.include_keys("Tracer"):
        op(toy.array([1]), generator=generator)
    assert drawn == [generator]
    assert seen == [(None, dc.DispatchKeySet())]


def test_a_fake_sees_what_the_caller_passed(registry, library, toy, meta, tensors):
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: type(x)(x.a[0]), toy.key)
    seen = []

    def fake(x):
        seen.append(type(x))
        return dc.wrap_like(x, meta.array(dc.shape(x)))

    dc.register_fake(registry.ops.t.f, fake)
    for x, kind in ((toy.array([1, 2]), meta.array), (tensors.wrap(toy.array([1, 2])), tensors.tensor_type)):
        with pytest.raises(dc.KernelResultError, match=r"shape \(\), where the shape rule"):
            registry.ops.t.f(x)
        assert seen.pop() is kind


def test_strides_count_where_the_type_of_array_has_them(registry, library, make_backend):
    """Whoever answers row-major strides for arrays of another order is told at the first view."""
    bare = make_backend("bare", strides=None)
    liar = make_backend("liar", strides=lambda array: tuple(np.empty(array.a.shape, "i1").strides))
    library.define("t(Tensor(a) x) -> Tensor(a)")
    add_rule(library, "t", lambda x: type(x)(x.shape[::-1], x.strides[::-1]))
    for backend in (bare, liar):
        library.impl("t", lambda x: show_array(type(x), x.a.T), backend.key)
    assert dc.shape(registry.ops.t.t(bare.array([[1, 2, 3], [4, 5, 6]]))) == (3, 2)
    with pytest.raises(dc.KernelResultError, match="a type of array that has no strides leaves them out"):
        registry.ops.t.t(show_array(liar.array, np.ones((2, 3))[:, ::2]))


def test_opcheck_compares_when_nobody_watches_any_more(define, toy):
    op = define("(Tensor x) -> Tensor", lambda x: type(x)((x.a if x.a.ndim == 1 else x.a[0]) + 0), same)
    for _ in range(result_watch._QUIET + 2):
        op(toy.array([1]))
    assert dc.shape(op(toy.array([[1, 2]]))) == (2,)
    with pytest.raises(
        dc.OpCheckError, match=r"test_faketensor failed: result 0 has shape \(2,\), but its fake \(1, 2\)"
    ):
        dc.opcheck(op, (toy.array([[1, 2]]),))


def test_what_takes_the_place_of_an_array_that_cannot_be_written_is_compared(registry, library, make_backend, tensors):
    ice = make_backend("ice", mutable=False)
    library.define("add(Tensor x) -> Tensor")
    library.define("add_(Tensor(a!) x) -> Tensor(a!)")
    library.impl("add", lambda x: type(x)(x.a[0]), ice.key)
    add_rule(library, "add_", rule := Rule())
    x = tensors.wrap(ice.array([1, 2]))
    with pytest.raises(dc.KernelResultError) as caught:
        registry.ops.t.add_(x)
    assert "t::add_: the result has shape (), where the shape rule" in str(caught.value)
    assert "Computed for Ice, whose arrays cannot be written to, by the functional operator" in str(caught.value)
    rule.refuses = True
    with pytest.raises(ValueError, match="as the rule says"):
        registry.ops.t.add_(x)
    assert x._dispatch_data == [1, 2]


class Rule:
    """A shape rule that may refuse its arguments."""

    refuses = False

    def __call__(self, x):
        if self.refuses:
            raise ValueError("as the rule says")
        return x


# Pipelines.


@pytest.mark.parametrize("steps", [1, 3])
def test_a_pipeline_compares_when_it_first_runs(work, monkeypatch, steps):
    """Also a kernel whose calls are watched no more."""
    monkeypatch.setattr(result_watch, "_QUIET", 1)
    work.define("drop(Tensor x) -> Tensor", lambda x: work.toy.array(x.a if x.a.ndim == 1 else x.a[0]), same)
    for _ in range(3):
        work.ops.drop(work.array(1))
    x = work.toy.array([[1, 2], [3, 4]])
    for _ in range(2):
        with pytest.raises(dc.KernelResultError) as caught, work.pipeline():
            found = x
            for _ in range(steps - 1):
                found = work.ops.double(found)
            found = work.ops.drop(found)
        assert "t::drop(float64[2, 2]) failed in a pipeline: KernelResultError: " in str(caught.value)
        assert f"{__file__}:" in str(caught.value)
        assert "the result has shape (2,), where the shape rule" in str(caught.value)
        with pytest.raises(dc.KernelResultError):
            found.result()
    with work.pipeline():
        found = work.ops.double(work.ops.drop(work.array(1, 2)))
    assert found.result() == [2, 4]


def test_a_view_of_what_is_pending_is_right_for_arrays_without_strides(registry, library, make_backend, meta, numbers):
    """``(x.t() + 1).t()[0]`` is right where a type of array says that it has no strides, and refused where it lies."""

    def run(backend):
        lib = dc.Library("t", "FRAGMENT", registry=registry)
        made = lambda a: show_array(backend.array, np.ascontiguousarray(a))
        lib.impl("t", lambda x: made(x.a.T), backend.key)
        lib.impl("inc", lambda x: made(x.a + 1), backend.key)
        lib.impl("first", lambda x: made(x.a[0]), backend.key)
        x = backend.array([[1, 2, 3], [4, 5, 6]])
        with dc.pipeline(registry=registry):
            ops = registry.ops.t
            found = ops.first(ops.t(ops.inc(ops.t(x))))
        return numbers(found)

    library.define("t(Tensor(a) x) -> Tensor(a)")
    library.define("inc(Tensor x) -> Tensor")
    library.define("first(Tensor(a) x) -> Tensor(a)")
    add_rule(library, "t", lambda x: meta.array(x.shape[::-1], x.strides[::-1]))
    add_rule(library, "inc", same)
    add_rule(library, "first", lambda x: meta.array(x.shape[1:], x.strides[1:]))
    assert run(make_backend("bare", strides=None)) == [2, 3, 4]
    with pytest.raises(dc.KernelResultError, match=r"t::t: the result has strides \(2, 1\), where .* says \(1, 3\)"):
        run(make_backend("liar"))
