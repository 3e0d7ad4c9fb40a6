"""Frontends: their tensors, hooks, and tensors of two in one call."""

from __future__ import annotations

import pytest

import dispatch_core as dc
from dispatch_core import frontends
from dispatch_core.arrays import frontend as frontends_of_core
from dispatch_core.arrays.frontend import FRONTENDS, frontend_of


def test_wrap_makes_a_tensor_with_mask_and_data(toy, tensors):
    array = toy.array([1])
    tensor = tensors.wrap(array)
    assert type(tensor) is tensors.tensor_type
    assert tensor._dispatch_mask == toy.key | tensors.marker
    assert tensor._dispatch_data is array
    assert frontend_of(tensor) is tensors
    assert frontend_of(array) is None


def test_wrap_refuses_what_no_backend_owns(tensors):
    with pytest.raises(dc.ArgumentError, match=r"no backend owns arrays of type builtins\.int"):
        tensors.wrap(3)


def test_wrap_like_follows_the_reference(toy, tensors):
    array = toy.array([1])
    assert dc.wrap_like(array, array) is array
    assert isinstance(dc.wrap_like(tensors.wrap(array), array), tensors.tensor_type)


def show_first(x):
    """Return a view of an array's first element."""
    found = type(x)(0)
    found.a = x.a[:1]
    return found


def test_a_bare_class_with_two_slots_is_enough(registry, library, toy):
    class Box:
        __slots__ = ("_dispatch_data", "_dispatch_mask")

    library.define("f(Tensor(a!) x) -> Tensor(a!)")
    library.define("g(Tensor(a) x) -> Tensor(a)")
    library.impl("f", lambda x: x.a.__iadd__(1) is None or x, toy.key)
    library.impl("g", show_first, toy.key)
    with pytest.raises(ZeroDivisionError), registry.transaction():
        boxes = dc.register_frontend("bare", Box)
        box = boxes.wrap(toy.array([1, 2]))
        assert registry.ops.t.f(box) is box
        assert box._dispatch_data == [2, 3]
        made = registry.ops.t.g(box)
        assert type(made) is Box
        assert made._dispatch_data == [2]
        1 / 0  # noqa: B018  # the registration is to be undone


def test_new_makes_fresh_results(registry, library, toy, make_frontend):
    made = []

    def new():
        made.append(frontend.tensor_type())
        return made[-1]

    frontend = make_frontend("counted", new=new)
    library.define("f(Tensor x) -> (Tensor, Tensor)")
    library.impl("f", lambda x: (x, type(x)(x.a)), toy.key)
    found = registry.ops.t.f(frontend.wrap(toy.array([1])))
    assert list(found) == made[1:]
    assert all(tensor._dispatch_mask == toy.key | frontend.marker for tensor in found)


def test_results_are_of_the_frontends_class_whatever_subclass_goes_in(registry, library, toy, tensors):
    class Parameter(tensors.tensor_type):
        pass

    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: x, toy.key)
    parameter = Parameter()
    parameter._dispatch_mask, parameter._dispatch_data = toy.key | tensors.marker, toy.array([1])
    assert type(registry.ops.t.f(parameter)) is tensors.tensor_type


def test_a_class_belongs_to_one_frontend(tensors):
    class Derived(tensors.tensor_type):
        pass

    for cls in (tensors.tensor_type, Derived):
        with pytest.raises(dc.RegistrationError, match="belongs to frontend 'boxes' already"):
            dc.register_frontend("again", cls)


def test_a_name_belongs_to_one_frontend(registry, tensors):
    before = dict(FRONTENDS)
    other = type("Other", (), {})
    with pytest.raises(dc.RegistrationError, match=r"frontend 'boxes': .*Tensor is registered under the name already"):
        dc.register_frontend("boxes", other)
    assert before == FRONTENDS
    for _ in range(2):  # a rollback gives the name back
        with pytest.raises(ZeroDivisionError), registry.transaction():
            assert dc.register_frontend("others", other).name == "others"
            1 / 0  # noqa: B018  # the registration is to be undone
    assert before == FRONTENDS


def test_two_frontends_in_one_call_are_refused(registry, library, toy, tensors, make_frontend):
    other = make_frontend("others")
    library.define("f(Tensor x, Tensor y) -> Tensor")
    library.impl("f", lambda x, y: x, toy.key)
    a, b = tensors.wrap(toy.array([1])), other.wrap(toy.array([1]))
    for _ in range(2):
        with pytest.raises(dc.FrontendMismatchError) as caught:
            registry.ops.t.f(a, b)
        assert str(caught.value).startswith("t::f: tensors of the frontends boxes and others stand in one call")
        assert isinstance(caught.value, TypeError)
    with pytest.raises(dc.FrontendMismatchError):
        registry.ops.t.f.redispatch(toy.key, a, b)


def test_tensors_and_raw_arrays_in_one_call_are_refused(registry, library, toy, tensors):
    library.define("f(Tensor x, Tensor? y=None, *, Tensor[] z) -> Tensor")
    library.impl("f", lambda x, y, z: x, toy.key)
    raw = toy.array([1])
    tensor = tensors.wrap(raw)
    for args, kwargs in [
        ((tensor, raw), {"z": []}),
        ((raw, tensor), {"z": []}),
        ((tensor,), {"z": [raw]}),
        ((raw,), {"z": [raw, tensor]}),
    ]:
        with pytest.raises(dc.FrontendMismatchError, match="expected every argument to be a Tensor of one frontend"):
            registry.ops.t.f(*args, **kwargs)


def test_mixed_devices_are_refused_by_name(registry, library, toy, tensors, make_backend):
    other = make_backend("other1", device_index=lambda array: 1)
    library.define("f(Tensor self, *, Tensor? other=None) -> Tensor")
    library.impl("f", lambda self, other: self, toy.key)
    library.impl("f", lambda self, other: self, other.key)
    for wrap in (lambda array: array, tensors.wrap):
        a, b = wrap(toy.array([1])), wrap(other.array([1]))
        with pytest.raises(dc.DeviceMismatchError) as caught:
            registry.ops.t.f(a, other=b)
        text, _, further = str(caught.value).partition(", or register")
        assert text == (
            "t::f: Expected all tensors to be on the same device, but found at least two devices, other1:1 and toy!"
            " (arguments 'self' on toy, 'other' on other1:1)\nHint: move them to one device first"
        )
        assert ("types=(" in further) == (type(a) is type(toy.array([1])))
        with dc.include_keys("Tracer"), pytest.raises(dc.DeviceMismatchError):
            registry.ops.t.f(a, other=b)


def test_mixed_devices_of_an_operator_without_schema_are_refused_too(registry, toy, make_backend):
    other = make_backend("other2")
    registry.register_kernel("t::bare", toy.key, lambda *args, **kwargs: 0)
    with pytest.raises(dc.DeviceMismatchError, match="'0' on toy, 'y' on other2"):
        registry.dispatch("t::bare", toy.array([1]), y=other.array([1]))


def test_explicit_keysets_follow_priority_instead(registry, library, toy, make_backend):
    other = make_backend("other3")
    library.define("f(Tensor x, Tensor y) -> str")
    for backend in (toy, other):
        library.impl("f", lambda x, y, name=backend.name: name, backend.key)
    first = max(toy, other, key=lambda backend: backend.key.rank)
    args = toy.array([1]), other.array([1])
    assert registry.dispatch_with_keyset("t::f", [toy.key, other.key], *args) == first.name
    assert registry.redispatch("t::f", toy.key | other.key, *args) == first.name


def test_a_frontend_may_allow_mixed_devices(registry, library, toy, make_backend, make_frontend):
    other = make_backend("other4")
    seen = []

    class Lenient(frontends.Layers):
        def call_mixed(self, op, args, kwargs):
            seen.append((op.name, args, kwargs))
            return "allowed"

    frontend = make_frontend("lenient", layers=Lenient())
    library.define("f(Tensor x, Tensor y, *, int n=3) -> Tensor")
    a, b = frontend.wrap(toy.array([1])), frontend.wrap(other.array([1]))
    assert registry.ops.t.f(a, b) == "allowed"
    assert seen == [("t::f", (a, b), {"n": 3})]


def test_a_layer_of_the_same_device_is_not_mixed(registry, library, toy, tensors):
    library.define("f(Tensor x, Tensor y) -> str")
    library.impl("f", lambda x, y: "sparse", "SparseToy")
    dense, sparse = tensors.wrap(toy.array([1])), tensors.wrap(toy.array([1]))
    sparse._dispatch_mask = dc.DispatchKey.SparseToy | tensors.marker
    assert registry.ops.t.f(dense, sparse) == "sparse"


def test_a_tensor_with_an_unknown_bit_is_refused(registry, library, toy, tensors):
    library.define("f(Tensor x) -> str")
    tensor = tensors.wrap(toy.array([1]))
    tensor._dispatch_mask |= 1 << 63
    with pytest.raises(dc.DispatchKeyError, match="bit 63 belongs to no dispatch key"):
        registry.ops.t.f(tensor)


def test_registering_finds_room_and_gives_it_back(make_frontend):
    before = set(FRONTENDS)
    made = [make_frontend(f"number{index}") for index in range(12)]
    assert len({frontend.marker for frontend in made} - before) == 12


class Slotted:
    """A tensor class whose mask is a member's descriptor, as a class with a mask on its objects alone has none."""

    __slots__ = ("_dispatch_data", "_dispatch_mask")


#: How a class is given where a tensor is expected: the schema, and the call's arguments of a right tensor and the class.
WITH_CLASS = {
    "alone": ("f(Tensor x) -> Tensor", lambda x, cls: ((cls,), {})),
    "with a number": ("f(Tensor x, int n=1) -> Tensor", lambda x, cls: ((cls, 2), {})),
    "by keyword": ("f(*, Tensor x, int n=1) -> Tensor", lambda x, cls: ((), {"x": cls, "n": 2})),
    "first": ("f(Tensor x, Tensor y) -> Tensor", lambda x, cls: ((cls, x), {})),
    "second": ("f(Tensor y, Tensor x) -> Tensor", lambda x, cls: ((x, cls), {})),
    "both": ("f(Tensor x, Tensor y) -> Tensor", lambda x, cls: ((cls, cls), {})),
    "optional": ("f(Tensor y, Tensor? x=None) -> Tensor", lambda x, cls: ((x, cls), {})),
    "optional alone": ("f(Tensor? x) -> Tensor", lambda x, cls: ((cls,), {})),
    "in a list": ("f(Tensor[] x) -> Tensor", lambda x, cls: (([x, cls],), {})),
    "alone in a list": ("f(Tensor[] x) -> Tensor", lambda x, cls: (([cls],), {})),
    "in a list with gaps": ("f(Tensor?[] x) -> Tensor", lambda x, cls: (([None, cls],), {})),
}


@pytest.mark.parametrize("given", ["raw", "wrapped"])
@pytest.mark.parametrize("cls", ["slots", "plain", "array"])
@pytest.mark.parametrize("place", WITH_CLASS)
def test_a_class_of_tensors_is_no_tensor(registry, library, toy, meta, make_frontend, place, cls, given):
    schema, arguments = WITH_CLASS[place]
    frontend = dc.register_frontend("slotted", Slotted) if cls == "slots" else make_frontend("plain")
    try:
        wrong = toy.array if cls == "array" else frontend.tensor_type
        library.define(schema)
        library.impl("f", lambda *args, **kwargs: toy.array([7]), toy.key)
        right = toy.array([1]) if given == "raw" else frontend.wrap(toy.array([1]))
        op = registry.ops.t.f
        for calls in range(4):  # a first call, and generated ones
            args, kwargs = arguments(right, wrong)
            for call in (op, op.default, lambda *args, **kwargs: op.redispatch(toy.key, *args, **kwargs)):
                with pytest.raises(
                    dc.ArgumentError, match=r"argument 'x'.* (must be Tensor, not|found element of type) type"
                ):
                    call(*args, **kwargs)
            with dc.pipeline(registry=registry), pytest.raises(dc.ArgumentError, match="argument 'x'"):
                op(*args, **kwargs)
            if calls:
                args, kwargs = arguments(right, right)
                result = op(*args, **kwargs)
                assert getattr(result, "_dispatch_data", result) == [7]
    finally:
        if cls == "slots":
            frontends_of_core._remove(frontend)
