"""Keys of layouts beyond torch's: their names, places and ranks, and how an operator's slots treat them."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

import pytest

from dispatch_core import ArgumentError, DispatchKey, DispatchKeySet, RegistrationError, Registry
from dispatch_core.frontends import TensorLayout, find_layout
from dispatch_core.keys import ARRAYS, AUTOGRAD, LAYOUTS, PROFILES, backend_arrays, keys_of


@dataclass
class Pair:
    one: object
    two: object


def make_layout(prefix, record=None, **options):
    kind = record or dataclass(type("Pair", (Pair,), {}))
    return TensorLayout(prefix, kind, component="one", shape=lambda pair: (2,), dtype=lambda pair: "number", **options)


@pytest.fixture(scope="module")
def layout():
    return make_layout("KeysOfPairs", Pair, composes="math::parts")


def test_a_layout_has_a_key_on_every_backend_and_an_autograd_key(layout):
    autograd = layout.autograd_key
    assert autograd is DispatchKey.AutogradKeysOfPairs is DispatchKey.register_layout("KeysOfPairs")
    assert (autograd.kind, autograd.layout, autograd.backend) == ("autograd", "KeysOfPairs", "")
    for backend in ("CPU", "CUDA", "PrivateUse3", "Meta"):
        key = DispatchKey[f"KeysOfPairs{backend}"]
        assert (key.kind, key.layout, key.backend) == ("layout", "KeysOfPairs", backend) and key.owns_arrays
        assert key & LAYOUTS and key & ARRAYS and not key & AUTOGRAD and key & backend_arrays(backend)
    assert autograd & AUTOGRAD and not autograd & LAYOUTS
    assert find_layout(Pair) is layout is find_layout(f"{Pair.__module__}.Pair")


@pytest.mark.parametrize("profile", PROFILES)
def test_their_ranks_are_directly_above_nested_tensors(layout, profile):
    ordered = sorted(DispatchKey, key=lambda key: key.rank_in(profile))
    for key, below in (
        (DispatchKey.KeysOfPairsCPU, DispatchKey.NestedTensorCPU),
        (layout.autograd_key, DispatchKey.AutogradNestedTensor),
    ):
        between = ordered[ordered.index(below) + 1 : ordered.index(key)]
        assert all(each.layout for each in between)
    assert keys_of(DispatchKey.KeysOfPairsCPU | layout.autograd_key | DispatchKey.AutogradCPU, profile) == [
        layout.autograd_key,
        DispatchKey.AutogradCPU,
        DispatchKey.KeysOfPairsCPU,
    ]
    assert DispatchKeySet("KeysOfPairsCPU").mask == DispatchKey["KeysOfPairsCPU"]


def test_backends_that_come_later_have_them_too(layout):
    key = DispatchKey.register_backend("AfterLayouts")
    assert DispatchKey["KeysOfPairsAfterLayouts"].backend == key.name
    with pytest.raises(RegistrationError, match="there is a key AutogradKeysOfPairs"):
        DispatchKey.register_backend("KeysOfPairs")


@pytest.mark.parametrize("prefix", ["", "two words", "Autograd", "Autocast"])
def test_a_prefix_that_makes_no_names_is_refused(prefix):
    before = len(DispatchKey)
    with pytest.raises(RegistrationError, match="cannot become the prefix of a layout's dispatch keys"):
        make_layout(prefix)
    assert len(DispatchKey) == before


def test_the_next_layout_of_a_prefix_has_its_records_name():
    first, second, third = (make_layout("Shared") for _ in range(3))
    assert [each.keys_prefix for each in (first, second, third)] == ["Shared", "Shared_Pair", "Shared_Pair2"]
    assert {each.prefix for each in (first, second, third)} == {"Shared"}
    assert len({each.autograd_key for each in (first, second, third)}) == 3


def test_composites_serve_the_keys_of_a_layout_as_those_of_a_backend(layout):
    registry = Registry()
    registry.register_schema("math::all", "all(Tensor x) -> Tensor")
    registry.register_kernel("math::all", "CompositeImplicitAutograd", lambda x: x)
    entry = registry.find_entry("math::all")
    assert entry.slot(DispatchKey.KeysOfPairsCPU).rule == entry.slot(layout.autograd_key).rule == "math kernel"
    registry.register_kernel("math::all", "KeysOfPairsCPU", lambda x: x)
    assert entry.slot(DispatchKey.KeysOfPairsCPU).rule == "kernel"
    # A kernel for a layout speaks for its Autograd key, and for no other one.
    assert entry.slot(layout.autograd_key).rule == "missing"
    assert entry.slot(DispatchKey.AutogradCPU).rule == entry.slot(DispatchKey.AutogradOther).rule == "math kernel"


def test_there_is_room_for_a_number_of_layouts():
    program = """
from dataclasses import dataclass
import dispatch_core as dc
from dispatch_core.frontends import TensorLayout
def make_record():
    @dataclass
    class Record:
        value: object
    return Record
try:
    for number in range(100):
        TensorLayout(f"Room{number}", make_record(), component="value", shape=len, dtype=len)
except dc.RegistrationError as error:
    print(number, error)
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert found.startswith("48 'Room48' cannot become the prefix of a layout's dispatch keys: 48 layouts have keys")


def test_a_layout_is_refused_by_its_fault():
    with pytest.raises(RegistrationError, match="Pair is the record of TensorLayout"):
        make_layout("PairsAgain", Pair)
    with pytest.raises(ArgumentError, match="composes has 'parts', which is no operator's full name"):
        make_layout("PairsAgain", composes=("parts",))
    assert "AutogradPairsAgain" not in DispatchKey
    with pytest.raises(ArgumentError, match=r"Pair has no field 'three'(.|\n)*it has one, two"):
        find_layout(Pair).replace(Pair(1, 2), three=3)
