"""Tools of torch's own that libraries import: blocks that decorate, weak dictionaries, flat lists, device indices."""

import copy
import gc

import pytest

import torchlike
from torchlike.nn import native
from torchlike.surface import helpers
from torchlike.utils import _contextlib, _device, _mode_utils, _typing_utils, weak


class Depth(_contextlib._DecoratorContextManager):
    now = 0

    def __init__(self, step=1):
        self.step = step

    def __enter__(self):
        Depth.now += self.step

    def __exit__(self, *exc):
        Depth.now -= self.step

    def clone(self):
        return Depth(self.step)


class Bare(_contextlib._NoParamDecoratorContextManager):
    __enter__, __exit__ = Depth(3).__enter__, Depth(3).__exit__


def test_a_block_decorates_functions_and_generators():
    @Depth(2)
    def depth():
        return Depth.now

    @Depth(2)
    def depths():
        yield Depth.now
        yield Depth.now

    assert depth() == 2 and Depth.now == 0
    for found in depths():
        assert found == 2 and Depth.now == 0
    assert Bare(lambda: Depth.now)() == Bare()(lambda: Depth.now)() == 3
    assert _contextlib.context_decorator(Depth(5).clone, depth)() == 7
    with pytest.raises(AssertionError, match="both callable and a context manager"):
        _contextlib.context_decorator(Depth(5), depth)
    with pytest.raises(RuntimeError, match="Cannot decorate classes"):
        _contextlib.context_decorator(Depth(1).clone, Depth)
    with pytest.warns(FutureWarning, match="Decorating classes"):
        assert Depth(1)(dict)(a=1) == {"a": 1}


def test_a_device_is_that_of_a_block_or_a_function():
    with _device.DeviceContext("meta"):
        assert torchlike.ones(1).device.type == _device.CURRENT_DEVICE.type == "meta"
    assert (
        _device.set_device("meta")(torchlike.ones)(1).device.type == "meta" and torchlike.ones(1).device.type == "cpu"
    )
    with pytest.raises(AttributeError, match="no attribute 'current'"):
        _device.current  # noqa: B018  # asking is the error


def test_small_helpers():
    assert _mode_utils.all_same_mode([]) and not _mode_utils.all_same_mode([1, 2])
    with pytest.raises(TypeError, match="should not be"):
        _typing_utils.not_none(None)
    assert _typing_utils.copy_method_sig(print)(len) is len
    assert native.gelu is torchlike.nn.functional.gelu and native._parse_to("cpu")[0].type == "cpu"
    with pytest.raises(AttributeError, match="no attribute 'gelo'"):
        native.gelo  # noqa: B018  # as above


def test_dictionaries_by_identity_do_not_keep_their_keys():
    x, y = torchlike.ones(2), torchlike.ones(2)
    found = weak.WeakTensorKeyDictionary({x: 1})
    found[y] = 2
    assert found[x] == 1 and found.get(torchlike.ones(2)) is None and 3 not in found and len(found) == 2
    assert found.copy() == found == copy.copy(found) and (found | {}) == found and isinstance({} | found, type(found))
    deep = copy.deepcopy(weak.WeakIdKeyDictionary({x: [1]}))
    assert deep[x] == [1]
    assert {id(key) for key in found} == {id(x), id(y)} and sorted(found.values()) == [1, 2]
    assert found.setdefault(x, 5) == 1 and found.pop(x) == 1 and x not in found
    with pytest.raises(KeyError):
        found[x]
    del y
    gc.collect()
    assert len(found) == 0 and list(found) == [] and found.keyrefs() == []
    with pytest.raises(TypeError):
        hash(found)


def test_weak_references_are_equal_by_identity_while_they_live():
    x = torchlike.ones(2)
    reference, other, tensor = weak.WeakIdRef(x), weak.WeakIdRef(x), weak.TensorWeakRef(x)
    assert reference == other and hash(reference) == hash(other) and tensor() is x
    assert weak._WeakHashRef(x) == weak._WeakHashRef(x)
    del x
    gc.collect()
    assert reference != other and reference == reference and tensor() is None
    with pytest.raises(AssertionError, match=r"expected torch\.Tensor"):
        weak.TensorWeakRef(3)


def test_flat_lists_come_apart_again():
    parts = [torchlike.ones(2, 2), torchlike.zeros(3), torchlike.tensor(5.0)]
    flat = helpers._flatten_dense_tensors(parts)
    again = helpers._unflatten_dense_tensors(flat, parts)
    assert flat.tolist() == [1.0] * 4 + [0.0] * 3 + [5.0]
    assert all(torchlike.equal(a, b) for a, b in zip(parts, again, strict=True))
    flat.zero_()
    assert again[2] == 0
    chunks = list(helpers._take_tensors([*parts, torchlike.ones(1).double()], 16))
    assert [[each.numel() for each in chunk] for chunk in chunks] == [[4], [3, 1], [1]]


def test_devices_have_indices():
    read = helpers._get_device_index
    assert read("npu:2") == read(2) == 2 and read("cpu", allow_cpu=True) == -1
    for wrong, text in (("cpu", "non cpu device"), ("npu", "specified index"), (None, "specified index")):
        with pytest.raises(ValueError, match=text):
            read(wrong)
    if not torchlike.accelerator.is_available():
        assert helpers._get_available_device_type() is helpers._get_all_device_indices() is None
        assert read(None, optional=True) is None
    assert helpers._get_device_module("cpu") is torchlike.cpu and helpers.get_current_device_index() == -1


def test_facts_of_dtypes_and_values():
    assert helpers._element_size(torchlike.half) == 2 and helpers._handle_complex(torchlike.ones(1) + 0j).shape == (
        1,
        2,
    )
    with pytest.raises(RuntimeError, match=r"expected torch\.dtype"):
        helpers._element_size(3)
    assert helpers.try_import("no_such_module.inner") is None and helpers.try_import("json").dumps(1) == "1"
    with pytest.raises(RuntimeError, match="Tried to instantiate dummy base class X"):
        helpers._dummy_type("X")()


def test_callbacks_do_not_stop_each_other(capsys):
    registry, seen = helpers.CallbackRegistry("start"), []
    registry.add_callback(lambda: 1 / 0)
    registry.add_callback(lambda: seen.append(1))
    registry.fire_callbacks()
    assert seen == [1] and "division by zero" in capsys.readouterr().err
