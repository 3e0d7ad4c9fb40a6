"""Keysets: the algebra of sets, priority, immutability and the keys that a call starts with."""

from __future__ import annotations

import copy
import pickle
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dispatch_core as dc
from dispatch_core import DispatchKey, DispatchKeySet
from dispatch_core.keys.keyset import as_key, as_mask

# Two alternatives of one place share a rank, and other modules may have registered some.
RUNTIME = [key for key in DispatchKey if not key.is_alias and key.kind != "alternative"]
some_keys = st.sets(st.sampled_from(RUNTIME), max_size=12)


@given(some_keys, some_keys)
def test_the_operators_are_those_of_sets(left, right):
    a, b = DispatchKeySet(left), DispatchKeySet(right)
    assert set(a | b) == set(a.union(b)) == left | right
    assert set(a & b) == set(a.intersection(b)) == left & right
    assert set(a - b) == set(a.without(b)) == left - right
    assert (a == b) == (left == right)
    assert len(a) == len(left)
    assert bool(a) == bool(left)
    assert all((key in a) == (key in left) for key in right | left)


@given(some_keys, some_keys, some_keys)
def test_the_algebra_is_boolean(x, y, z):
    a, b, c = map(DispatchKeySet, (x, y, z))
    assert a | b == b | a
    assert (a | b) | c == a | (b | c)
    assert a & (b | c) == (a & b) | (a & c)
    assert a - (b | c) == (a - b) & (a - c)
    assert a | DispatchKeySet.empty() == a == a & DispatchKeySet.all()
    assert a - a == DispatchKeySet.empty()


@given(some_keys, some_keys)
def test_inclusion_and_complement_hold_together(x, y):
    # Without the aliases: taking Autograd out takes its members out.
    a, b, everything = DispatchKeySet(x), DispatchKeySet(y), DispatchKeySet(RUNTIME)
    assert everything - (everything - a) == a == a & everything
    assert everything - (a | b) == (everything - a) & (everything - b)
    assert everything - (a & b) == (everything - a) | (everything - b)
    assert (a | b == b) == (a & b == a) == (not a - b) == x.issubset(y)
    assert a - b == a & (everything - b) == a - (a & b)
    assert (a | b) & a == a == (a & b) | a
    assert len(a) + len(b) == len(a | b) + len(a & b)


@given(some_keys, some_keys, some_keys)
def test_masks_of_a_context_are_sets_and_exclusion_comes_last(keys, included, excluded):
    made = DispatchKeySet(keys)
    with dc.include_keys(*included), dc.exclude_keys(*excluded):
        assert set(dc.apply_masks(made)) == (keys | included) - excluded
        with dc.include_keys(*excluded):
            assert set(dc.apply_masks(made)) == (keys | included) - excluded
    assert dc.apply_masks(made) == made


@given(st.lists(st.sampled_from(RUNTIME), max_size=12))
def test_a_set_is_made_key_by_key_in_any_order(keys):
    made = DispatchKeySet.empty()
    for key in keys:
        made = made.add(key)
    assert made == DispatchKeySet(reversed(keys)) == DispatchKeySet([*keys, *keys])
    for key in keys:
        made = made.remove(key)
    assert made == DispatchKeySet.empty()


@given(some_keys, st.sampled_from(dc.keys.PROFILES))
def test_the_highest_key_is_the_one_that_no_other_outranks(keys, profile):
    found = dc.keys.keys_of(DispatchKeySet(keys).mask, profile)
    assert set(found) == keys
    ranks = [key.rank_in(profile) for key in found]
    assert ranks == sorted(ranks, reverse=True)
    assert len(set(ranks)) == len(ranks)


@given(some_keys)
def test_iteration_goes_from_the_highest_rank_down(keys):
    found = list(DispatchKeySet(keys).iter_keys())
    assert found == sorted(keys, key=lambda key: -key.rank)
    assert DispatchKeySet(keys).highest() is (found[0] if found else None)


@given(some_keys)
def test_a_set_is_its_mask_and_can_be_made_from_anything_that_spells_it(keys):
    made = DispatchKeySet(keys)
    mask = sum(keys)
    assert made.mask == mask
    assert made == DispatchKeySet.from_mask(mask) == DispatchKeySet([key.name for key in keys]) == DispatchKeySet(made)
    assert hash(made) == hash(DispatchKeySet.from_mask(mask))


@given(some_keys)
def test_pickling_and_copying_keep_the_keys_by_name(keys):
    made = DispatchKeySet(keys)
    assert pickle.loads(pickle.dumps(made)) == copy.copy(made) == copy.deepcopy(made) == made
    assert all(key.name.encode() in pickle.dumps(made) for key in keys)


@given(some_keys, st.sampled_from(RUNTIME))
def test_adding_and_removing_give_new_sets(keys, key):
    made = DispatchKeySet(keys)
    assert set(made.add(key)) == keys | {key}
    assert set(made.remove(key)) == keys - {key}
    assert set(made) == keys


def test_operators_take_keys_names_masks_and_iterables():
    made = DispatchKeySet("CPU")
    assert made | "Meta" == made | DispatchKey.Meta == made | int(DispatchKey.Meta) == made | ["Meta"]
    assert DispatchKey.Meta | made == made | DispatchKey.Meta
    assert ["CPU", "Meta"] - made == DispatchKeySet("Meta")
    assert (DispatchKey.CPU | DispatchKey.Meta) - made == DispatchKeySet("Meta")
    assert DispatchKey.CPU & made == made


def test_a_keyset_cannot_be_changed():
    made = DispatchKeySet("CPU")
    with pytest.raises(AttributeError, match="DispatchKeySet is immutable: cannot set 'mask'"):
        made.mask = 0
    with pytest.raises(AttributeError):
        del made.mask
    with pytest.raises(AttributeError):
        made.other = 1


def test_repr_names_the_keys_by_priority():
    assert repr(DispatchKeySet(["CPU", "AutogradCPU", "Meta"])) == "DispatchKeySet(AutogradCPU, Meta, CPU)"
    assert repr(DispatchKeySet()) == "DispatchKeySet()"


def test_removing_a_key_leaves_other_devices_alone():
    made = DispatchKeySet(["CPU", "Meta", "AutogradCPU", "AutogradMeta"])
    assert set(made - "CPU") == set(made) - {DispatchKey.CPU}
    assert set(made - "AutogradCPU") == set(made) - {DispatchKey.AutogradCPU}


def test_the_alias_autograd_stands_for_its_members():
    made = DispatchKeySet(["CPU", "AutogradCPU"])
    assert DispatchKey.Autograd in made
    assert made.has("Autograd")
    assert DispatchKey.Autograd not in made - "AutogradCPU"
    assert made - "Autograd" == made.remove("Autograd") == DispatchKeySet("CPU")
    assert DispatchKey.Autograd in DispatchKeySet("AutogradOther")
    DispatchKey.register_backend("Aliased")
    assert "Autograd" in DispatchKeySet("AutogradAliased")


def test_other_aliases_stand_for_themselves_in_a_set():
    assert "CompositeImplicitAutograd" not in DispatchKeySet("CPU")
    assert "CompositeImplicitAutograd" in DispatchKeySet(["CPU", "CompositeImplicitAutograd"])


def test_meta_beats_npu_beats_cpu():
    assert [key.name for key in DispatchKeySet(["CPU", "NPU", "Meta"])] == ["Meta", "NPU", "CPU"]


def test_all_holds_every_key():
    assert set(DispatchKeySet.all()) == set(DispatchKey)
    assert len(DispatchKeySet.all()) == len(DispatchKey)


@pytest.mark.parametrize("bad", [True, 1.5, None, object(), [1.5], [None]])
def test_what_is_no_keyset_is_refused(bad):
    with pytest.raises((dc.ArgumentError, dc.DispatchKeyError)):
        DispatchKeySet(bad)


def test_errors_of_masks_say_what_is_wrong():
    with pytest.raises(dc.DispatchKeyError, match="-5 is not a mask: it is negative"):
        DispatchKeySet.from_mask(-5)
    with pytest.raises(dc.DispatchKeyError, match="bit 63 belongs to no dispatch key"):
        DispatchKeySet.from_mask(1 << 63)
    with pytest.raises(dc.ArgumentError, match="expected a keyset, a mask, a key or an iterable of keys, not float"):
        DispatchKeySet(1.5)
    with pytest.raises(dc.DispatchKeyError, match="no dispatch key is named 'Nope'"):
        DispatchKeySet(["CPU", "Nope"])


def test_keys_and_masks_are_read_from_any_spelling():
    assert as_key("CPU") is as_key(DispatchKey.CPU) is as_key(1)
    assert as_mask("CPU") == as_mask(1) == as_mask({"CPU"}) == as_mask(DispatchKeySet("CPU")) == 1


def stand_in(device, *, requires_grad=False):
    return SimpleNamespace(device=device, requires_grad=requires_grad)


def test_from_tensors_starts_with_the_device_keys(toy):
    assert DispatchKeySet.from_tensors([toy.array([1])]) == DispatchKeySet(toy.key)
    assert DispatchKeySet.from_tensors([]) == DispatchKeySet.empty()
    assert DispatchKeySet.from_tensors([None, toy.array([1]), None]) == DispatchKeySet(toy.key)


def test_from_tensors_adds_autograd_where_an_input_requires_grad(toy, tensors):
    tensor = tensors.wrap(toy.array([1]))
    made = DispatchKeySet.from_tensors([tensor], grad_enabled=True)
    assert made == DispatchKeySet(toy.key)
    tensor.requires_grad = True
    assert DispatchKeySet.from_tensors([tensor]) == DispatchKeySet(toy.key)
    made = DispatchKeySet.from_tensors([toy.array([2]), tensor], grad_enabled=True)
    assert made == DispatchKeySet([toy.key, "AutogradToy"])
    assert DispatchKey.Autograd in made


def test_from_tensors_adds_pipeline_but_not_for_meta(toy, make_backend):
    tensor = stand_in("toy")
    assert DispatchKeySet.from_tensors([tensor], pipeline_enabled=True) == DispatchKeySet([toy.key, "Pipeline"])
    assert DispatchKeySet.from_tensors([], pipeline_enabled=True) == DispatchKeySet()
    if "meta" not in dc.arrays.owners.DEVICE_KEYS:
        make_backend("meta", "Meta")
    assert DispatchKeySet.from_tensors([stand_in("meta")], pipeline_enabled=True) == DispatchKeySet("Meta")


def test_from_tensors_reads_the_device_of_stand_ins(toy):
    made = DispatchKeySet.from_tensors([stand_in(dc.Device("toy"), requires_grad=True)], grad_enabled=True)
    assert made == DispatchKeySet([toy.key, "AutogradToy"])


def test_from_tensors_refuses_what_is_no_tensor():
    with pytest.raises(dc.ArgumentError, match=r"expected a tensor or an array that a backend owns, not builtins\.int"):
        DispatchKeySet.from_tensors([3])


def test_sets_that_operators_give_are_made_once_for_each_marker(make_frontend):
    marker = make_frontend("marked").marker
    marked = DispatchKeySet(DispatchKey.CPU | DispatchKey.AutogradCPU | marker)
    below = marked - "AutogradCPU"
    assert below == DispatchKeySet("CPU") and (below.marker, DispatchKeySet("CPU").marker) == (marker, 0)
    assert (DispatchKeySet(["CPU", "AutogradCPU"]) - "AutogradCPU").marker == 0
    assert (marked & "CPU").marker == (marked | "Meta").marker == marker
    assert marked - DispatchKey.AutogradCPU is marked - "Autograd"
