"""Arrays: who owns a type, and what can be asked of an array or a tensor."""

from __future__ import annotations

import numpy as np
import pytest

import dispatch_core as dc
from dispatch_core import arrays


def test_helpers_read_raw_arrays_and_tensors_alike(toy, tensors):
    array = toy.array(np.zeros((2, 3)).T)
    for value in (array, tensors.wrap(array)):
        assert dc.shape(value) == (3, 2)
        assert dc.strides(value) == (1, 3)
        assert dc.storage_offset(value) == 0
        assert dc.dtype(value) == "float64"
        assert dc.device(value) == dc.Device("toy")


def test_strides_are_row_major_where_the_type_has_none():
    class Plain:
        pass

    info = dc.BackendInfo("plain", "", (dc.ArrayType(Plain, shape=lambda _: (2, 0, 3), dtype=lambda _: "x"),))
    with pytest.raises(ZeroDivisionError), dc.registry.transaction():
        dc.registry.add_backend(info)
        assert dc.strides(Plain()) == (3, 3, 1)
        1 / 0  # noqa: B018  # the registration is to be undone
    assert not arrays.is_tensor(Plain())


def test_the_device_has_the_arrays_index(make_backend):
    backend = make_backend("indexed", device_index=lambda array: int(array.a[0]))
    assert dc.device(backend.array([3])) == dc.Device("indexed", 3)


@pytest.mark.parametrize("helper", [dc.shape, dc.strides, dc.storage_offset, dc.dtype, dc.device])
@pytest.mark.parametrize("value", [3, None, "x", [1], object()])
def test_helpers_refuse_what_is_no_array(helper, value):
    with pytest.raises(dc.ArgumentError, match="expected a tensor or an array that a backend owns, not builtins"):
        helper(value)


def test_subclasses_belong_to_their_base_classs_backend(toy):
    class Special(toy.array):
        __slots__ = ()

    assert arrays.find_type(Special) == toy.key
    assert dc.shape(Special([1, 2])) == (2,)


def test_a_device_name_belongs_to_one_backend(toy):
    with pytest.raises(dc.RegistrationError, match="device 'toy' is registered already, with key Toy"):
        dc.registry.add_backend(dc.BackendInfo("toy", "Rival"))
    assert arrays.DEVICE_KEYS["toy"] is toy.key


def test_a_key_belongs_to_one_backend(toy):
    with pytest.raises(dc.RegistrationError, match="device 'rival' asks for key Toy, which device 'toy' has"):
        dc.registry.add_backend(dc.BackendInfo("rival", "Toy"))
    assert "rival" not in arrays.DEVICE_KEYS


def test_a_type_belongs_to_one_backend(toy):
    with pytest.raises(dc.RegistrationError, match=r"device 'rival' claims the array type ToyArray.*belongs to Toy"):
        dc.registry.add_backend(dc.BackendInfo("rival", "", toy.info.array_types))
    assert "rival" not in arrays.DEVICE_KEYS


@pytest.mark.parametrize("key", ["Tracer", "AutogradCPU", "SparseCPU", "MkldnnCPU"])
def test_a_backend_cannot_have_another_sort_of_key(key):
    with pytest.raises(dc.RegistrationError, match=f"asks for key {key}, which is no backend's"):
        dc.registry.add_backend(dc.BackendInfo("rival", key))


def test_the_key_is_made_from_the_device_name(toy):
    assert toy.key.name == "Toy"


def test_a_rolled_back_backend_leaves_nothing(registry):
    class Gone:
        pass

    class Derived(Gone):
        pass

    info = dc.BackendInfo("gone", "", (dc.ArrayType(Gone, shape=lambda _: (), dtype=lambda _: "x"),))
    with pytest.raises(ZeroDivisionError), dc.registry.transaction():
        dc.registry.add_backend(info)
        assert arrays.is_tensor(Derived())
        1 / 0  # noqa: B018  # the registration is to be undone
    assert "gone" not in arrays.DEVICE_KEYS
    assert "Gone" not in arrays.KEY_DEVICES
    assert not arrays.is_tensor(Gone())
    assert not arrays.is_tensor(Derived())
    key = dc.registry.add_backend(info)
    assert arrays.find_type(Derived) == key
    arrays._remove_backend(info, key)


def test_to_data_unwraps_tensors_and_leaves_arrays(toy, tensors):
    array = toy.array([1])
    assert arrays.to_data(array) is array
    assert arrays.to_data(tensors.wrap(array)) is array
