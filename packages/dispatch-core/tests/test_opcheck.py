"""``opcheck``: operators that differ from their registration."""

from __future__ import annotations

import pytest

import dispatch_core as dc
from dispatch_core import Tensor
from dispatch_core.calls import conformance

ALL = {"test_schema": "SUCCESS", "test_autograd_registration": "SUCCESS", "test_faketensor": "SUCCESS"}


@pytest.fixture
def define(registry, library, toy):
    """Define ``t::f`` with a kernel for the toy backend, and a fake if one is given."""

    def define(schema, kernel, fake=None, **options):
        library.define(f"f{schema}")
        library.impl("f", kernel, toy.key, **options)
        if fake is not None:
            dc.register_fake(registry.ops.t.f, fake)
        return registry.ops.t.f

    return define


def failure(op, *args, **kwargs):
    with pytest.raises(dc.OpCheckError) as caught:
        dc.opcheck(op, args, kwargs)
    return str(caught.value)


def test_an_operator_that_keeps_its_word_passes(define, toy, meta, tensors):
    def kernel(x, ys, n, *, out):
        out.a[:] = n
        return type(x)(x.a + sum(y.a for y in ys)), out, 1.5

    def fake(x, ys, n, *, out):
        return dc.wrap_like(x, meta.array(dc.shape(x))), out, 1.5

    op = define("(Tensor x, Tensor[] ys, int n, *, Tensor(a!) out) -> (Tensor, Tensor(a!), float)", kernel, fake)
    x, y, out = (toy.array([1, 2]) for _ in range(3))
    assert dc.opcheck(op, (x, [y], 3), {"out": out}) == ALL
    assert (x, y, out) == ([1, 2], [1, 2], [1, 2])
    boxes = [tensors.wrap(array) for array in (x, y, out)]
    assert dc.opcheck(op.default, (boxes[0], [boxes[1]], 3), {"out": boxes[2]}) == ALL


def test_a_custom_operator_can_be_given_as_it_is(registry, toy, meta):
    @dc.custom_op("t::f", mutates_args=(), registry=registry)
    def f(x: Tensor) -> Tensor:
        return type(x)(x.a + 1)

    assert failure(f, toy.array([1])).startswith(
        "opcheck of t::f: test_faketensor failed with NoKernelError: t::f: there is no fake"
    )
    f.register_fake(lambda x: meta.array(x.shape))
    assert dc.opcheck(f, (toy.array([1]),)) == ALL


def test_a_write_that_is_not_declared_is_found(define, toy):
    def kernel(x, y):
        y.a += 1
        return type(x)(x.a + 0)

    op = define("(Tensor x, Tensor y) -> Tensor", kernel)
    y = toy.array([1])
    assert (
        failure(op, toy.array([1]), y)
        == "opcheck of t::f: test_schema failed: argument 'y' was written to, but the schema does not say so"
    )
    assert y == [1]


def test_the_same_array_given_twice_stays_the_same(define, toy):
    def kernel(x, y):
        x.a += 1

    op = define("(Tensor(a!) x, Tensor y) -> ()", kernel)
    x = toy.array([1])
    assert dc.opcheck(op, (x, x), test_utils="test_schema") == {"test_schema": "SUCCESS"}


@pytest.mark.parametrize(
    ("schema", "kernel", "text"),
    [
        ("(Tensor x, Tensor y) -> Tensor", lambda x, y: y, "result 0 shares memory with argument 'y', but the schema"),
        (
            "(Tensor x, Tensor y) -> Tensor",
            lambda x, y: type(x)(x.a[:1]),
            "result 0 shares memory with argument 'x', but",
        ),
        (
            "(Tensor x, Tensor y) -> (Tensor, Tensor)",
            lambda x, y: (made := type(x)([1]), made),
            "results 0 and 1 share",
        ),
        ("(Tensor x, Tensor y) -> Tensor[]", lambda x, y: [made := type(x)([1]), made], "results 0 and 0 share memory"),
        (
            "(Tensor(a) x, Tensor y) -> Tensor(a)",
            lambda x, y: type(y)(y.a[:]),
            "with argument 'y', not with the one it is",
        ),
        ("(Tensor x, Tensor y) -> int", lambda x, y: 1.5, "result 0 must be int, not float"),
    ],
)
def test_aliasing_that_is_not_declared_is_found(define, toy, schema, kernel, text):
    op = define(schema, kernel)
    message = failure(op, toy.array([1, 2]), toy.array([3, 4]))
    assert message.startswith("opcheck of t::f: test_schema failed: ")
    assert text in message


def test_composites_are_held_against_their_schema_too(registry, library, toy):
    library.define("f(Tensor(a!) x) -> Tensor(a!)")
    library.impl("f", lambda x: type(x)([1]))
    assert "result 0 is not argument 'x', but the schema says that it is" in failure(registry.ops.t.f, toy.array([1]))
    library.define("g(Tensor x) -> (Tensor, Tensor)")
    library.impl("g", lambda x: x)
    assert "it returned ToyArray where the schema promises 2 results" in failure(registry.ops.t.g, toy.array([1]))


def test_a_view_may_be_a_copy_only_where_the_operator_says_so(registry, library, toy, meta):
    for name, tags in (("never", ()), ("often", "may_copy")):
        library.define(f"{name}(Tensor(a) x) -> Tensor(a)", tags=tags)
        library.impl(name, lambda x: type(x)(x.a + 0), toy.key)
        library.impl(name, lambda x: meta.array(dc.shape(x)), "Meta")
    assert dc.opcheck(registry.ops.t.often, (toy.array([1]),)) == ALL
    assert "result 0 does not share the memory of argument 'x'" in failure(registry.ops.t.never, toy.array([1]))


def test_gradients_that_would_be_lost_are_found(define, toy, tensors, registry):
    op = define("(Tensor x) -> Tensor", lambda x: type(x)(x.a + 0))
    x = tensors.wrap(toy.array([1]))
    only = {"test_utils": ["test_autograd_registration"]}
    assert dc.opcheck(op, (x,), **only) == {"test_autograd_registration": "SUCCESS"}
    x._dispatch_mask |= dc.DispatchKey.AutogradToy
    x.requires_grad = True
    with pytest.raises(
        dc.OpCheckError, match="argument 'x' requires grad, but the operator has no kernel for AutogradToy"
    ):
        dc.opcheck(op, (x,), **only)
    x.requires_grad = False
    assert dc.opcheck(op, (x,), **only) == {"test_autograd_registration": "SUCCESS"}
    x.requires_grad = True
    dc.register_autograd(op, lambda ctx, grad: grad)
    assert dc.opcheck(op, (x,), **only) == {"test_autograd_registration": "SUCCESS"}


def test_a_composite_needs_no_kernel_for_autograd(registry, library, toy, tensors):
    library.define("f(Tensor x) -> int")
    library.define("g(Tensor x) -> Tensor")
    library.impl("f", lambda x: 1, toy.key)
    library.impl("g", lambda x: x)
    x = tensors.wrap(toy.array([1]))
    x._dispatch_mask |= dc.DispatchKey.AutogradToy
    for op in (registry.ops.t.f, registry.ops.t.g):
        assert dc.opcheck(op, (x,), test_utils="test_autograd_registration")


@pytest.mark.parametrize(
    ("fake", "text"),
    [
        (lambda x, make: make((2, 2)), "result 0 has shape (2, 3), but its fake (2, 2)"),
        (lambda x, make: make((2, 3), dtype="int64"), "result 0 has dtype float64, but its fake int64"),
        (lambda x, make: make((2, 3), (1, 2)), "result 0 has strides (3, 1), but its fake (1, 2)"),
    ],
)
def test_a_fake_that_differs_is_found(define, toy, meta, fake, text):
    op = define("(Tensor x) -> Tensor", lambda x: type(x)(x.a + 0), lambda x: fake(x, meta.array))
    found = failure(op, toy.array([[1, 2, 3], [4, 5, 6]]))
    assert found.splitlines()[0] == f"opcheck of t::f: test_faketensor failed: {text}"
    assert found.splitlines()[1].startswith("Kernel for Toy: ")


def test_strides_that_lead_nowhere_do_not_count(define, toy, meta):
    op = define("(Tensor x) -> Tensor", lambda x: type(x)(x.a + 0), lambda x: meta.array(x.shape, (77, 1)))
    assert dc.opcheck(op, (toy.array([[1, 2]]),)) == ALL


def test_lists_of_another_length_are_found(define, toy, meta):
    op = define("(Tensor x) -> Tensor[]", lambda x: [type(x)([1])], lambda x: [])
    assert "the real results have 1 tensors, the fake ones 0" in failure(op, toy.array([1]))


def test_the_errors_may_be_asked_for_instead(define, toy, meta):
    def broken(x):
        raise ZeroDivisionError("no")

    op = define("(Tensor x) -> Tensor", broken)
    found = dc.opcheck(op, (toy.array([1]),), raise_exception=False)
    assert found["test_autograd_registration"] == "SUCCESS"
    assert str(found["test_schema"]) == "opcheck of t::f: test_schema failed with ZeroDivisionError: no"
    assert isinstance(found["test_schema"].__cause__, ZeroDivisionError)
    assert isinstance(found["test_faketensor"], dc.OpCheckError)


def test_arguments_without_data_leave_nothing_to_check(define, toy, meta):
    op = define("(Tensor x) -> Tensor", lambda x: x)
    assert dc.opcheck(op, (meta.array((1,)),)) == ALL


def test_what_cannot_be_checked_says_so(define, registry, toy):
    op = define("(Tensor x) -> Tensor", lambda x: x)
    with pytest.raises(dc.OpCheckError, match="opcheck has no check 'test_speed'") as caught:
        dc.opcheck(op, (toy.array([1]),), test_utils="test_speed")
    assert caught.value.hint == "choose from test_schema, test_autograd_registration, test_faketensor"
    with pytest.raises(TypeError, match="missing 1 required"):
        dc.opcheck(op, ())
    registry.register_kernel("t::loose", "CPU", lambda: 1)
    with pytest.raises(dc.OpCheckError, match="t::loose has no schema to check"):
        dc.opcheck(registry.ops.t.loose, ())


def test_a_meta_backend_that_makes_no_stand_ins_says_so(define, toy, make_backend, meta):
    from dispatch_core.arrays import owners

    op = define("(Tensor x) -> Tensor", lambda x: type(x)(x.a + 0), lambda x: x)
    known = owners.KEY_TYPES[meta.key]
    owners.KEY_TYPES[meta.key] = (dc.ArrayType(meta.array, shape=lambda _: (), dtype=lambda _: ""),)
    assert "cannot make stand-ins: its ArrayType has no 'empty'" in failure(op, toy.array([1]))
    owners.KEY_TYPES[meta.key] = known


class Declared:
    """A dtype as an operator library declares it."""

    __schema_type__ = "ScalarType"


@pytest.mark.parametrize("made", [lambda x: (x, []), lambda x: (x, [x, x]), lambda x: (x, [], x)])
@pytest.mark.parametrize("kind", ["number", ("f", 4), object(), Declared()], ids=lambda kind: type(kind).__name__)
def test_arrays_of_a_dtype_that_meta_refuses_are_passed_over(
    registry, library, make_backend, meta, monkeypatch, kind, made
):
    def refuse(shape, strides, dtype):
        raise TypeError(f"no arrays of {dtype}")

    own = make_backend("own", dtype=lambda array: kind)
    library.define("f(Tensor x, Tensor[] ys, Tensor? z=None) -> Tensor")
    library.impl("f", lambda x, ys, z: own.array(x.a + 1), own.key)
    dc.register_fake(registry.ops.t.f, lambda x, ys, z: meta.array(x.shape, dtype=kind))
    arguments = made(own.array([1, 2]))
    assert dc.opcheck(registry.ops.t.f, arguments) == ALL  # a meta device that takes any dtype
    monkeypatch.setattr(conformance, "find_stand_in_maker", lambda: refuse)
    if isinstance(kind, Declared):
        assert "test_faketensor failed with TypeError: no arrays of" in failure(registry.ops.t.f, *arguments)
    else:
        assert dc.opcheck(registry.ops.t.f, arguments) == ALL
