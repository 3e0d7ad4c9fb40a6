"""Results are held against the schema, and kernels under Meta are called where they are asked for."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import dispatch_core as dc
from dispatch_core.operators import result_watch
from dispatch_pipelines import materialize

pytestmark = pytest.mark.usefixtures("meta")

HALF = SimpleNamespace(name="half")
DTYPE = type("Kind", (), {"__schema_type__": "ScalarType"})()
GOOD = {
    "int": [np.int64(3)],
    "SymInt": [7],
    "float": [np.float32(1)],
    "bool": [np.True_],
    "str": [""],
    "Scalar": [1, 0.5, 1j],
    "ScalarType": [DTYPE],
    "Device": [dc.Device("cpu")],
    "Layout": [0],
    "int[]": [[], [1], (1, 2)],
    "int[2]": [[1, 2]],
    "str[]": [["a"]],
    "float?": [None, 1.5],
    "int[]?": [None, [1]],
    "Any": [None, 3, "text"],
}
ODD = [None, "text", 0.5, 3, True, [1], ["a"], (1, "a"), object(), HALF, b"", dc.Device("cpu"), DTYPE]
#: Of the odd values, those that fit after all.
FITS = {
    "int": [3],
    "SymInt": [3],
    "float": [0.5, 3, True],
    "bool": [True],
    "str": ["text"],
    "Scalar": [0.5, 3, True],
    "ScalarType": [DTYPE],
    "Device": [dc.Device("cpu")],
    "Layout": [3],
    "int[]": [[1]],
    "int[2]": [[1]],
    "str[]": [["a"]],
    "float?": [None, 0.5, 3, True],
    "int[]?": [None, [1]],
}
WHERE = ["kernel", "composite", "meta"]


def is_among(value, values):
    return any(value is each or (type(value) is type(each) and value == each) for each in values)


@pytest.fixture
def returning(registry, library, toy, meta):
    """Define ``t::f`` with a kernel that returns what the test sets, and return a function that calls it."""

    def returning(schema, value, where="kernel"):
        library.define(f"f{schema}")
        key = {"kernel": toy.key, "meta": "Meta"}.get(where)
        library.impl("f", lambda *args, **kwargs: value, *([] if key is None else [key]))
        x = meta.array((2,)) if where == "meta" else toy.array([1, 2])
        return lambda: registry.ops.t.f(x)

    return returning


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("kind", GOOD)
def test_a_result_of_the_declared_type_passes(returning, kind, where):
    call = returning(f"(Tensor x) -> {kind}", value := GOOD[kind][0], where)
    assert call() is value


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("kind", FITS)
def test_a_result_of_another_type_is_refused(registry, toy, meta, kind, where):
    for number, value in enumerate(ODD):
        if is_among(value, FITS[kind]):
            continue
        with dc.Library(f"odd{number}", "DEF", registry=registry) as library:
            library.define(f"f(Tensor x) -> {kind}")
            key = {"kernel": toy.key, "meta": "Meta"}.get(where)
            library.impl("f", lambda x, value=value: value, *([] if key is None else [key]))
            with pytest.raises(dc.KernelResultError) as caught:
                registry.dispatch(f"odd{number}::f", meta.array((2,)) if where == "meta" else toy.array([1, 2]))
            assert f"odd{number}::f: result 0 must be " in str(caught.value)
            assert "<lambda>" in str(caught.value)
            assert __file__ in str(caught.value)
            assert caught.value.hint


@pytest.mark.parametrize("where", ["kernel", "composite"])
@pytest.mark.parametrize(
    ("returns", "value"),
    [
        ("()", 3),
        ("()", "x"),
        ("(Tensor, Tensor)", "x"),
        ("(Tensor, Tensor)", ("x",)),
        ("(Tensor, int)", ("x", "text")),
        ("(Tensor, int)", ("x", 1, 2)),
        ("Tensor[]", "x"),
        ("Tensor", ("x", "x")),
        ("Tensor", None),
        ("Tensor[]", ["x", None]),
    ],
)
def test_another_number_of_results_is_refused(returning, toy, returns, value, where):
    def fill(item):
        return (
            type(item)(map(fill, item)) if isinstance(item, list | tuple) else toy.array([1]) if item == "x" else item
        )

    with pytest.raises(dc.KernelResultError, match="t::f: "):
        returning(f"(Tensor y) -> {returns}", fill(value), where)()


# What may stand in an argument's place, by the kind of array: the argument, a copy, a view, and what has another shape.
def show(array, a):
    made = type(array)(0)
    made.a = a
    return made


ANSWERS = {
    "the argument": lambda x: x,
    "a view of it": lambda x: show(x, x.a[:]),
    "a copy": lambda x: show(x, x.a.copy()),
    "a smaller copy": lambda x: show(x, x.a[:1].copy()),
}
SCHEMAS = {"view": "(Tensor(a) x) -> Tensor(a)", "in place": "(Tensor(a!) x) -> Tensor(a!)"}
ARRAYS = {"writable": {}, "without strides": {"strides": None}}


def is_allowed(kind, arrays, tags, answer):
    if kind == "view":
        return tags == "may_copy" or arrays != "writable" or answer in ("the argument", "a view of it")
    if tags == "inplace_view" or answer in ("the argument", "a view of it"):
        return True
    return False if arrays == "writable" else answer == "a copy"


@pytest.mark.parametrize("tags", ["", "may_copy", "inplace_view"])
@pytest.mark.parametrize("arrays", ARRAYS)
@pytest.mark.parametrize("kind", SCHEMAS)
def test_results_lie_where_the_schema_says(registry, make_backend, tensors, kind, arrays, tags):
    made = make_backend("kept", **ARRAYS[arrays])
    for number, (answer, wrapped) in enumerate(itertools.product(ANSWERS, (False, True))):
        with dc.Library(f"m{number}", "DEF", registry=registry) as library:
            library.define(f"f{SCHEMAS[kind]}", tags=tags)
            library.impl("f", ANSWERS[answer], made.key)
            x = made.array([1, 2])
            given = tensors.wrap(x) if wrapped else x
            if is_allowed(kind, arrays, tags, answer):
                registry.dispatch(f"m{number}::f", given)
                continue
            with pytest.raises(dc.KernelResultError, match="where the schema promises") as caught:
                registry.dispatch(f"m{number}::f", given)
            assert "<lambda>" in str(caught.value)


@pytest.mark.parametrize("key", ["CompositeImplicitAutograd", "CompositeExplicitAutograd", "Tracer"])
def test_in_place_composites_and_fallbacks_return_their_argument(registry, library, toy, key):
    library.define("f_(Tensor(a!) x) -> Tensor(a!)")
    if key == "Tracer":
        layer = dc.Library("_", "IMPL", registry=registry)
        layer.fallback(lambda op, *args, **kwargs: toy.array([1, 2]), key)
    else:
        library.impl("f_", lambda x: toy.array([1, 2]), key)
    with dc.include_keys(*(["Tracer"] if key == "Tracer" else [])), pytest.raises(dc.KernelResultError) as caught:
        registry.ops.t.f_(toy.array([1, 2]))
    assert "result 0 is not argument 'x' itself, where the schema promises the argument itself" in str(caught.value)


def test_a_mode_gives_a_view_that_shares_memory(registry, library, toy):
    library.define("f(Tensor(a) x) -> Tensor(a)")
    library.impl("f", lambda x: show(x, x.a[:1]), toy.key)

    class Copying(dc.DispatchMode):
        def __dispatch__(self, func, types, args=(), kwargs=None):
            return toy.array([1])

    Copying.registry = registry
    with Copying(), pytest.raises(dc.KernelResultError, match="does not share the memory of argument 'x'"):
        registry.ops.t.f(toy.array([1, 2]))


def test_results_are_held_against_the_schema_in_first_calls_alone(returning, registry, toy, monkeypatch):
    answer = [1]
    registry.register_kernel("t::g", toy.key, lambda x: answer[0])
    with dc.Library("s", "DEF", registry=registry) as library:
        library.define("f(Tensor x) -> int")
        library.impl("f", lambda x: answer[0], toy.key)
        x = toy.array([1])
        for _ in range(result_watch._QUIET + 1):
            registry.ops.s.f(x)
        answer[0] = "text"
        assert registry.ops.s.f(x) == "text"
        registry.ops.s.f.default._entry.invalidate()
        with pytest.raises(dc.KernelResultError):
            registry.ops.s.f(x)


# Who registers a kernel under Meta, and how the operator is called.
def by_impl(library, rule):
    library.impl("f", rule, "Meta")


def by_fake(library, rule):
    dc.register_fake("t::f", rule, lib=library)


def by_function(library, rule):
    dc.impl("t::f", "Meta", rule, lib=library)


CALLS = {
    "dispatch": lambda s: s.registry.dispatch("t::f", s.x),
    "the operator": lambda s: s.registry.ops.t.f(s.x),
    "a tensor": lambda s: s.registry.ops.t.f(s.tensors.wrap(s.x)),
    "dispatch_with_keyset": lambda s: s.registry.dispatch_with_keyset("t::f", [s.toy.key], s.x),
    "redispatch": lambda s: s.registry.redispatch("t::f", [s.toy.key], s.x),
    "call_direct": lambda s: s.registry.call_direct("t::f", s.toy.key, s.x),
    "excluded": lambda s: s.call_excluded(),
}


@pytest.mark.parametrize("always", [False, True])
@pytest.mark.parametrize("register", [by_impl, by_fake, by_function])
@pytest.mark.parametrize("call", CALLS)
def test_a_programs_kernel_under_meta_runs_beside_no_other(
    registry, library, toy, meta, tensors, monkeypatch, call, register, always
):
    monkeypatch.setattr(result_watch.ALWAYS, "_on", always)
    seen = []

    def rule(x):
        seen.append("meta")
        return dc.wrap_like(x, meta.array(dc.shape(x)))

    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: seen.append("toy") or toy.array(x.a + 1), toy.key)
    register(library, rule)

    def call_excluded():
        with dc.exclude_keys("Meta"):
            return registry.dispatch_with_keyset("t::f", [toy.key, "Meta"], scene.x)

    scene = SimpleNamespace(
        registry=registry, toy=toy, tensors=tensors, x=toy.array([1, 2]), call_excluded=call_excluded
    )
    for _ in range(3):
        CALLS[call](scene)
    is_compared = (register is by_fake or always) and call != "call_direct"
    assert seen.count("toy") == 3
    if call != "call_direct":
        assert seen.count("meta") == (3 if is_compared else 0)


@pytest.mark.parametrize("register", [by_impl, by_function])
def test_a_pipeline_calls_a_programs_kernel_under_meta_once(registry, library, toy, meta, tensors, register):
    seen = []
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: seen.append("toy") or toy.array(x.a + 1), toy.key)
    register(library, lambda x: seen.append("meta") or meta.array(x.shape))
    for number in range(1, 4):
        with dc.pipeline(registry=registry):
            found = registry.ops.t.f(tensors.wrap(toy.array([1, 2])))
            assert seen.count("meta") == number
        assert materialize(found) == [2, 3]
        assert (seen.count("meta"), seen.count("toy")) == (number, number)


def test_opcheck_calls_a_programs_kernel_under_meta(registry, library, toy, meta):
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: toy.array(x.a + 1), toy.key)
    library.impl("f", lambda x: meta.array((7,)), "Meta")
    registry.ops.t.f(toy.array([1, 2]))
    with pytest.raises(dc.OpCheckError, match=r"result 0 has shape \(2,\), but its fake \(7,\)"):
        dc.opcheck(registry.ops.t.f, (toy.array([1, 2]),))


@pytest.mark.parametrize("kind", FITS)
def test_a_function_of_numbers_is_held_against_its_schema_too(registry, library, kind):
    library.define(f"f(int x) -> {kind}")
    library.impl("f", lambda x: object())
    with pytest.raises(dc.KernelResultError, match="result 0 must be "):
        registry.ops.t.f(1)
