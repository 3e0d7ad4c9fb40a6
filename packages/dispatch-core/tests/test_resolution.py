"""From a mask to a kernel: keys that are passed over, errors, layers, composites and factories."""

from __future__ import annotations

import pytest

import dispatch_core as dc
from dispatch_core import DispatchKey, DispatchKeySet


def register_names(library, name, *keys):
    """Define an operator without tensors, with kernels that return their key's name."""
    library.define(f"{name}(int x=0) -> str")
    for key in keys:
        library.impl(name, lambda x, key=key: key, key)


def test_the_highest_key_with_a_kernel_wins(registry, library):
    register_names(library, "f", "CPU", "Meta", "Tracer", "AutogradCPU")
    for keys, winner in [
        (["CPU"], "CPU"),
        (["CPU", "Meta"], "Meta"),
        (["CPU", "AutogradCPU"], "AutogradCPU"),
        (["CPU", "AutogradCPU", "Tracer", "Meta"], "Tracer"),
    ]:
        assert registry.redispatch("t::f", keys) == winner


def test_meta_beats_npu_beats_cpu_in_explicit_keysets(registry, library):
    register_names(library, "f", "CPU", "NPU", "Meta")
    assert registry.dispatch_with_keyset("t::f", ["CPU", "NPU", "Meta"]) == "Meta"
    assert registry.dispatch_with_keyset("t::f", ["CPU", "NPU"]) == "NPU"


@pytest.mark.parametrize(
    "name", ["Tracer", "Python", "AutogradCPU", "AutocastCPU", "Pipeline", "BackendSelect", "Autograd"]
)
def test_a_functionality_without_a_kernel_is_passed_over(registry, library, name):
    register_names(library, "f", "CPU")
    assert registry.redispatch("t::f", ["CPU", name]) == "CPU"


@pytest.mark.parametrize(
    "name", ["Meta", "SparseCPU", "SparseCsrCPU", "QuantizedCPU", "NestedTensorCPU", "MkldnnCPU", "NPU"]
)
def test_a_device_or_layout_without_a_kernel_is_an_error(registry, library, name):
    """Another device's kernel must never see its arrays."""
    register_names(library, "f", "CPU")
    with pytest.raises(dc.NoKernelError, match=f"t::f: no kernel for {name}, the highest key of DispatchKeySet"):
        registry.redispatch("t::f", ["CPU", name])


def test_alias_keys_in_a_set_are_passed_over_by_default(registry, library):
    register_names(library, "f", "CPU")
    for alias in [key for key in DispatchKey if key.is_alias]:
        assert registry.redispatch("t::f", [alias, "CPU"]) == "CPU"
        assert registry.dispatch_with_keyset("t::f", [alias, "CPU"]) == "CPU"


def test_an_alias_key_with_a_kernel_takes_part_by_rank(registry, library):
    register_names(library, "f", "CPU", "CompositeImplicitAutograd", "Autograd")
    assert registry.redispatch("t::f", ["CompositeImplicitAutograd", "CPU"]) == "CPU"
    assert registry.redispatch("t::f", ["Autograd", "CPU"]) == "Autograd"
    assert registry.redispatch("t::f", ["CompositeImplicitAutograd"]) == "CompositeImplicitAutograd"


@pytest.mark.parametrize("number", [1, 2, 3])
def test_an_unclaimed_private_use_key_is_passed_over_and_a_claimed_one_is_not(registry, library, make_backend, number):
    key = f"PrivateUse{number}"
    register_names(library, "f", "CPU")
    for name in (key, f"Sparse{key}", f"Autograd{key}"):
        assert registry.redispatch("t::f", [name, "CPU"]) == "CPU"
    make_backend("vendor", key)
    for name in (key, f"Sparse{key}"):
        with pytest.raises(dc.NoKernelError, match=rf"no kernel for {name} \(vendor\), the highest key of"):
            registry.redispatch("t::f", [name, "CPU"])
    assert registry.redispatch("t::f", [f"Autograd{key}", "CPU"]) == "CPU"
    registry.register_fallback(key, lambda op, *args: "the vendor's fallback")
    assert registry.redispatch("t::f", [key, "CPU"]) == "the vendor's fallback"
    library.impl("f", lambda x: "the vendor's kernel", key)
    assert registry.redispatch("t::f", [key, "CPU"]) == "the vendor's kernel"


def test_the_error_names_the_vendors_device(registry, library, toy):
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: x, "CPU")
    with pytest.raises(dc.NoKernelError) as caught:
        registry.ops.t.f(toy.array([1]))
    text = str(caught.value)
    assert text.startswith("t::f: no kernel for Toy, the highest key of DispatchKeySet(BackendSelect, Toy)")
    assert f"Kernels are registered under CPU ({__file__}:" in text
    assert text.splitlines()[-1].startswith("Hint: the backend for device 'toy' does not implement this operator")
    assert isinstance(caught.value, NotImplementedError)


def test_the_keyset_a_kernel_gets_lacks_what_was_passed_over_but_layers(registry, library):
    seen = []
    library.define("f() -> ()")
    library.impl("f", seen.append, "Tracer", with_keyset=True)
    library.impl("f", lambda: None, "CPU")
    library.impl("f", dc.fallthrough_kernel, "AutogradCPU")
    registry.redispatch("t::f", ["Tracer", "AutogradCPU", "Python", "PrivateUse1", "CPU"])
    # A layer without a kernel for the operator may have one for the parts of a composite.
    assert seen == [DispatchKeySet(["Tracer", "Python", "CPU"])]


def test_a_fallthrough_of_its_own_beats_a_fallback(registry, library):
    register_names(library, "f", "CPU")
    registry.register_fallback("Tracer", lambda op, *args: "fallback")
    assert registry.redispatch("t::f", ["Tracer", "CPU"]) == "fallback"
    registry.register_fallthrough("t::f", "Tracer")
    assert registry.redispatch("t::f", ["Tracer", "CPU"]) == "CPU"


def test_a_device_fallthrough_lets_the_next_device_run(registry, library):
    register_names(library, "f", "CPU")
    library.impl("f", dc.fallthrough_kernel, "Meta")
    assert registry.redispatch("t::f", ["Meta", "CPU"]) == "CPU"


def test_the_empty_set_selects_a_composite_or_is_an_error_of_its_own(registry, library):
    register_names(library, "f", "CompositeExplicitAutograd")
    register_names(library, "g", "CPU")
    assert registry.redispatch("t::f", DispatchKeySet()) == registry.dispatch("t::f") == "CompositeExplicitAutograd"
    for call in (lambda: registry.redispatch("t::g", 0), lambda: registry.dispatch("t::g")):
        with pytest.raises(dc.EmptyKeysetError) as caught:
            call()
        assert "t::g: the set of dispatch keys is empty: there are no tensor arguments" in str(caught.value)
        assert "Kernels are registered under CPU (" in str(caught.value)
        assert isinstance(caught.value, dc.NoKernelError)


def test_masking_every_key_off_leaves_an_empty_set(registry, library, toy):
    library.define("f(Tensor x) -> int")
    library.impl("f", lambda x: 1, toy.key)
    with dc.exclude_keys(toy.key), pytest.raises(dc.EmptyKeysetError, match="or their keys are masked off"):
        registry.ops.t.f(toy.array([1]))


def test_an_alias_fallthrough_is_no_kernel_for_the_empty_set(registry, library):
    library.define("f() -> int")
    library.impl("f", dc.fallthrough_kernel, "CompositeExplicitAutograd")
    with pytest.raises(dc.EmptyKeysetError):
        registry.ops.t.f()


def layer(registry, name, key, trace, calls="t::f"):
    def kernel(keyset, *args, **kwargs):
        trace.append(name)
        return registry.redispatch(calls, keyset - key, *args, **kwargs)

    return kernel


def test_layers_run_in_order_each_once(registry, library):
    trace = []
    library.define("f(int x) -> int")
    for name in ("Tracer", "Autograd"):
        library.impl("f", layer(registry, name, name, trace), name, with_keyset=True)
    library.impl("f", lambda x: trace.append("CPU") or x + 1, "CPU")
    for keys in (
        ["Tracer", "Autograd", "CPU"],
        ["Tracer", "AutogradCPU", "Autograd", "CPU"],
        ["CPU", "AutogradCPU", "Tracer"],
    ):
        trace.clear()
        assert registry.dispatch_with_keyset("t::f", keys, 1) == 2
        assert trace == ["Tracer", "Autograd", "CPU"]


def test_a_layer_that_is_missing_is_skipped(registry, library):
    trace = []
    library.define("f(int x) -> int")
    library.impl("f", layer(registry, "Tracer", "Tracer", trace), "Tracer", with_keyset=True)
    library.impl("f", lambda x: x + 1, "CPU")
    assert registry.dispatch_with_keyset("t::f", ["Tracer", "AutogradCPU", "Functionalize", "CPU"], 1) == 2
    assert trace == ["Tracer"]


def test_redispatch_never_adds_what_the_caller_masked_off(registry, library, toy, tensors):
    """The tensors carry their keys still; the explicit keyset alone decides."""
    library.define("f(Tensor x) -> str")
    for key in (toy.key, "AutogradToy", "Tracer"):
        library.impl("f", lambda x, key=str(key): key, key)
    tensor = tensors.wrap(toy.array([1]))
    tensor._dispatch_mask |= DispatchKey.AutogradToy
    assert registry.ops.t.f(tensor) == "AutogradToy"
    assert registry.redispatch("t::f", toy.key, tensor) == "Toy"
    with dc.include_keys("Tracer"):
        assert registry.redispatch("t::f", toy.key, tensor) == "Toy"
        assert registry.ops.t.f.redispatch(DispatchKeySet(tensor._dispatch_mask) - "Autograd", tensor) == "Toy"


@pytest.fixture
def composite(registry, library, toy, tensors):
    """``outer`` is a composite of ``inner``, which has a layer; both say which layers ran."""
    trace = []
    library.define("inner(Tensor x) -> Tensor")
    library.define("outer(Tensor x) -> Tensor")
    library.impl("inner", lambda x: trace.append("device") or x, toy.key)
    for name in ("AutogradToy", "Tracer"):
        library.impl("inner", layer(registry, name, name, trace, "t::inner"), name, with_keyset=True)
    library.impl("outer", registry.ops.t.inner)
    tensor = tensors.wrap(toy.array([1]))
    tensor._dispatch_mask |= DispatchKey.AutogradToy
    return tensor, trace


def test_a_composite_called_ordinarily_reaches_every_layer(registry, composite):
    tensor, trace = composite
    registry.ops.t.outer(tensor)
    assert trace == ["AutogradToy", "device"]


def test_a_composite_below_masked_keys_does_not_bring_them_back(registry, toy, composite):
    tensor, trace = composite
    registry.redispatch("t::outer", toy.key, tensor)
    assert trace == ["device"]
    trace.clear()
    with dc.include_keys("Tracer"):
        registry.redispatch("t::outer", [toy.key, "AutogradToy"], tensor)
        assert trace == ["AutogradToy", "device"]
        trace.clear()
        registry.ops.t.outer(tensor)
        assert trace == ["Tracer", "AutogradToy", "device"]
    assert dc.keys.context.current() is None


def test_a_composite_called_directly_calls_as_usual(registry, composite):
    tensor, trace = composite
    registry.call_direct("t::outer", "CompositeImplicitAutograd", tensor)
    assert trace == ["AutogradToy", "device"]


def test_a_composite_that_fails_leaves_no_mask_behind(registry, library, toy, tensors):
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: 1 / 0)
    tensor = tensors.wrap(toy.array([1]))
    tensor._dispatch_mask |= DispatchKey.AutogradToy
    with pytest.raises(ZeroDivisionError):
        registry.redispatch("t::f", toy.key, tensor)
    assert dc.keys.context.current() is None


def test_an_operator_without_schema_may_be_a_composite_too(registry, toy, composite):
    tensor, trace = composite
    registry.register_kernel("t::bare", "CompositeImplicitAutograd", lambda xs, *, y: registry.ops.t.inner(xs[0]))
    registry.redispatch("t::bare", toy.key, [tensor], y=tensor)
    assert trace == ["device"]


@pytest.fixture
def factory(library, toy):
    library.define("full(int n, *, Device? device=None) -> Tensor")
    library.impl("full", lambda n, *, device: toy.array([n]), toy.key)
    return toy


def test_a_factory_reads_its_device(registry, factory):
    for device in ("toy", "toy:3", dc.Device("toy")):
        made = registry.ops.t.full(5, device=device)
        assert type(made) is factory.array
        assert made == [5]


def test_a_factory_gets_the_device_as_an_object(registry, library, toy):
    library.define("f(Device? device) -> Any")
    library.impl("f", lambda device: device, toy.key)
    assert registry.ops.t.f("toy:1") == dc.Device("toy", 1)


def test_a_factory_for_an_unknown_device_says_so(registry, factory):
    with pytest.raises(dc.BackendNotFoundError, match="nowhere"):
        registry.ops.t.full(5, device="nowhere")
    with pytest.raises(dc.ArgumentError, match="'not a device'"):
        registry.ops.t.full(5, device="not a device")


def test_a_factory_does_not_run_for_an_excluded_device(registry, factory):
    with dc.exclude_keys(factory.key), pytest.raises(dc.EmptyKeysetError):
        registry.ops.t.full(5, device="toy")


def test_a_backends_own_select_kernel_beats_the_rule(registry, library, factory, toy):
    library.impl("full", lambda n, *, device: toy.array([-n]), "BackendSelect")
    assert registry.ops.t.full(5, device="toy") == [-5]


def test_a_composite_factory_goes_through_its_device(registry, library, factory):
    library.define("ones(*, Device? device=None) -> Tensor")
    library.impl("ones", lambda *, device: registry.ops.t.full(1, device=device))
    assert registry.ops.t.ones(device="toy") == [1]


def test_layers_see_a_factory_before_the_device_is_chosen(registry, library, factory):
    seen = []

    def trace(keyset, n, *, device):
        seen.append((keyset, device))
        return registry.redispatch("t::full", keyset - "Tracer", n, device=device)

    library.impl("full", trace, "Tracer", with_keyset=True)
    with dc.include_keys("Tracer"):
        assert registry.ops.t.full(2, device="toy") == [2]
    assert seen == [(DispatchKeySet(["Tracer", "BackendSelect"]), dc.Device("toy"))]


def test_a_select_kernel_sees_calls_with_tensors_too(registry, library, toy):
    library.define("f(Tensor x) -> str")
    library.impl("f", lambda x: "device", toy.key)
    library.impl(
        "f",
        lambda keyset, x: "select then " + registry.redispatch("t::f", keyset - "BackendSelect", x),
        "BackendSelect",
        with_keyset=True,
    )
    assert registry.ops.t.f(toy.array([1])) == "select then device"


def test_a_device_argument_that_names_another_device_goes_to_the_composite(registry, library, toy):
    library.define("like(Tensor x, *, Device? device=None) -> Any")
    library.impl("like", lambda x, *, device: "toy's own", toy.key)
    assert registry.ops.t.like(toy.array([1]), device="elsewhere") == "toy's own", "there is no composite"
    library.impl("like", lambda x, *, device: f"composite for {device}", "CompositeExplicitAutograd")
    like = registry.ops.t.like
    assert like(toy.array([1])) == like(toy.array([1]), device="toy") == "toy's own"
    assert like(toy.array([1]), device="elsewhere:1") == "composite for elsewhere:1"
