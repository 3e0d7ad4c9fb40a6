"""Keys of vendors: any number in one process, PrivateUse slots that are claimed by name, guards that were there before."""

from __future__ import annotations

import itertools
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dispatch_core as dc
from dispatch_core import DispatchKey, DispatchKeySet
from dispatch_core.arrays import access, owners
from dispatch_core.keys.table import ARRAYS, AUTOCAST, AUTOGRAD, DENSE, LAYOUTS, MARKERS

PREFIXES = ("", "Quantized", "Sparse", "SparseCsr", "NestedTensor", "Autograd", "Autocast")
VENDORS = [f"vendor{number}" for number in range(35)]
_fresh = (f"drawn{number}" for number in itertools.count())


def row(name):
    return [DispatchKey[prefix + name] for prefix in PREFIXES]


@pytest.fixture(scope="module")
def vendors():
    """Register more vendors than torch has bits for."""
    return [DispatchKey.register_backend(name) for name in VENDORS]


def test_a_vendor_gets_its_row_of_keys(vendors):
    assert DispatchKey.register_backend("acme").name == "acme"
    dense, *layouts, autograd, autocast = row("acme")
    assert {key.backend for key in row("acme")} == {"acme"}
    assert dense.kind == "device"
    assert {key.kind for key in layouts} == {"layout"}
    assert (autograd.kind, autocast.kind) == ("autograd", "autocast")


def test_vendors_share_no_bit_and_rank_between_npu_and_meta_in_every_class(vendors):
    keys = [key for name in VENDORS for key in row(name)]
    assert len({key.value for key in keys}) == len(keys) == len(PREFIXES) * len(VENDORS)
    assert not sum(keys) & MARKERS
    for prefix in PREFIXES:
        ranks = [DispatchKey[prefix + name].rank for name in ("PrivateUse3", *VENDORS, "Meta")]
        assert ranks == sorted(set(ranks))


@given(st.sets(st.sampled_from(VENDORS)), st.sets(st.sampled_from(VENDORS)), st.sampled_from(PREFIXES))
def test_keysets_of_vendors_are_sets(vendors, left, right, prefix):
    first, second = (DispatchKeySet([DispatchKey[prefix + name] for name in names]) for names in (left, right))
    names = {key.name for key in first | second}
    assert names == {prefix + name for name in left | right}
    assert {key.name for key in first & second} == {prefix + name for name in left & right}
    assert {key.name for key in first - second} == {prefix + name for name in left - right}
    assert pickle.loads(pickle.dumps(first)) == first
    highest = first.highest()
    assert highest is (None if not left else max(first, key=lambda key: key.rank))


@given(st.sets(st.sampled_from(VENDORS), min_size=1))
def test_excluding_autograd_excludes_every_vendors_and_nothing_else(vendors, names):
    keys = DispatchKeySet([key for name in names for key in row(name)])
    with dc.exclude_keys("Autograd"):
        left = dc.apply_masks(keys)
    assert {key.name for key in keys - left} == {f"Autograd{name}" for name in names}


@given(st.integers(1, 3))
def test_guards_and_classes_cover_vendors_that_register_later(count):
    with dc.exclude_keys("Autograd"), dc.include_keys("Profiler"):
        names = [next(_fresh) for _ in range(count)]
        for name in names:
            DispatchKey.register_backend(name)
            dense, *layouts, autograd, autocast = row(name)
            assert dense & DENSE & ARRAYS
            assert all(key & LAYOUTS & ARRAYS for key in layouts)
            assert autograd & AUTOGRAD
            assert autocast & AUTOCAST
            assert dc.apply_masks(row(name)) == DispatchKeySet([dense, *layouts, autocast, "Profiler"])
            with dc.exclude_keys(dense):
                assert dc.apply_masks(row(name)) == DispatchKeySet([*layouts, autocast, "Profiler"])


def test_kernels_of_many_vendors_are_told_apart(make_backend, registry, library):
    library.define("f(Tensor x) -> str")
    made = [make_backend(f"many{number}") for number in range(32)]
    for backend in made:
        library.impl("f", lambda x, name=backend.name: name, backend.key)
    assert [registry.ops.t.f(backend.array([1])) for backend in made] == [backend.name for backend in made]
    autograd = [DispatchKey[f"Autograd{backend.key.name}"] for backend in made]
    library.impl("f", lambda x: "autograd", "Autograd")
    keyset = DispatchKeySet([made[7].key, *autograd])
    assert registry.redispatch("t::f", keyset, made[7].array([1])) == "autograd"
    with dc.exclude_keys("Autograd"):
        assert registry.redispatch("t::f", keyset, made[7].array([1])) == "many7"


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_slot_that_is_claimed_shows_the_device_and_keeps_its_name(make_backend, number):
    slot = f"PrivateUse{number}"
    assert all(str(key) == key.label == key.name and key.is_unclaimed for key in row(slot))
    backend = make_backend("toy", slot)
    assert backend.key is DispatchKey[slot] is dc.device_key("toy")
    for prefix, key in zip(PREFIXES, row(slot), strict=True):
        assert key.name == prefix + slot
        assert str(key) == f"{key}" == key.label == f"{prefix}{slot} (toy)"
        assert not key.is_unclaimed
        assert pickle.loads(pickle.dumps(key)) is key
    assert repr(DispatchKeySet([slot, "CPU"])) == f"DispatchKeySet({slot} (toy), CPU)"
    assert f"{slot} (toy)" in repr(dc.DISPATCH_KEY_PRIORITY)
    assert str(dc.device(backend.array([1]))) == "toy"
    assert json.dumps(backend.key.name) == f'"{slot}"'


def test_a_claim_that_is_taken_back_frees_the_slot(registry):
    def fail():
        raise ValueError("half way")

    for name in ("first", "second"):
        with pytest.raises(ValueError, match="half way"), registry.transaction():
            registry.add_backend(dc.BackendInfo(name, "PrivateUse2"))
            assert DispatchKey.PrivateUse2.label == f"PrivateUse2 ({name})"
            fail()
        assert DispatchKey.PrivateUse2.is_unclaimed
        assert DispatchKey.PrivateUse2.label == "PrivateUse2"


def test_the_keys_of_a_backend_that_failed_stay_and_wait_for_another_try(registry, make_backend):
    """A bit is never given to another name, as masks and pickles may hold it; a key without an owner is in no listing."""
    with pytest.raises(ZeroDivisionError), registry.transaction():
        key = registry.add_backend(dc.BackendInfo("halfway"))
        registry.register_kernel("t::f", key, lambda: 0)
        1 / 0  # noqa: B018  # the block is to fail
    assert key is DispatchKey.Halfway
    assert not registry.entries
    assert "halfway" not in owners.DEVICE_KEYS
    with pytest.raises(dc.BackendNotFoundError):
        dc.device_key("halfway")
    assert make_backend("halfway").key is key


def test_a_slot_that_is_taken_is_refused_naming_both(make_backend, registry):
    make_backend("first", "PrivateUse1")
    with pytest.raises(dc.RegistrationError) as caught:
        registry.add_backend(dc.BackendInfo("second", "PrivateUse1"))
    assert str(caught.value) == (
        "device 'second' asks for key PrivateUse1, which device 'first' has\n"
        "Hint: leave dispatch_key empty to get a key of its own"
    )
    assert DispatchKey.PrivateUse1.label == "PrivateUse1 (first)"


def test_three_slots_and_keys_of_their_own_live_together(make_backend, registry, library):
    library.define("f(Tensor x, Tensor y) -> str")
    made = [make_backend(f"slot{number}", f"PrivateUse{number}") for number in (1, 2, 3)] + [make_backend("free")]
    for backend in made:
        library.impl("f", lambda x, y, name=backend.name: name, backend.key)
        assert registry.ops.t.f(backend.array([1]), backend.array([1])) == backend.name
    for one, other in itertools.permutations(made, 2):
        with pytest.raises(dc.DeviceMismatchError, match=rf"'x' on {one.name}, 'y' on {other.name}"):
            registry.ops.t.f(one.array([1]), other.array([1]))


def test_errors_name_the_operator_and_the_device(make_backend, registry, library):
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: x, "PrivateUse3")
    array = make_backend("toy", "PrivateUse1").array([1])
    make_backend("shown", "PrivateUse3")
    with pytest.raises(dc.NoKernelError) as caught:
        registry.ops.t.f(array)
    text = str(caught.value)
    assert text.startswith(
        "t::f: no kernel for PrivateUse1 (toy), the highest key of DispatchKeySet(BackendSelect, Priv"
    )
    assert "Kernels are registered under PrivateUse3 (shown) (" in text
    assert "Hint: the backend for device 'toy' does not implement this operator" in text


def test_a_name_whose_capital_is_taken_gets_a_key_spelled_as_it_is(make_backend):
    assert make_backend("Same").key.name == "Same"
    assert make_backend("same").key.name == "same"
    assert make_backend("python").key.name == "python"
    with pytest.raises(dc.RegistrationError, match="device 'other' asks for key Same, which device 'Same' has"):
        dc.registry.add_backend(dc.BackendInfo("other", "Same"))


def test_a_devices_key_is_found_by_its_name(toy):
    assert dc.device_key("toy") is toy.key
    with pytest.raises(dc.BackendNotFoundError, match="No installed distribution provides the device 'nowhere'"):
        dc.device_key("nowhere")


def test_a_tensor_says_whether_its_data_can_be_written(make_backend, tensors):
    for name, mutable in (("wet", True), ("dry", False)):
        array = make_backend(name, mutable=mutable).array([1])
        assert dc.is_mutable(array) is dc.is_mutable(tensors.wrap(array)) is mutable
    with pytest.raises(dc.ArgumentError):
        dc.is_mutable(3)


def test_rebinding_gives_a_tensor_other_data_and_a_raw_array_up(toy, tensors):
    first, second = toy.array([1]), toy.array([2, 3])
    tensor = tensors.wrap(first)
    assert dc.rebind(tensor, second) is tensor
    assert access.to_data(tensor) is second
    assert dc.rebind(tensor, tensors.wrap(first)) is tensor
    assert access.to_data(tensor) is first
    assert dc.rebind(first, second) is second
