"""Wrappers, which have no elements of their own: their memory, copies, files and text; and blocks without handlers."""

import copy
import io
import pickle

import pytest

import torchlike
from dispatch_core import KernelResultError
from torchlike import Tensor
from torchlike.overrides import DisableTorchDispatch, enable_reentrant_dispatch
from torchlike.tensors.storages import StorageWeakRef
from torchlike.utils._mode_utils import no_dispatch
from torchlike.utils._python_dispatch import (
    BaseTorchDispatchMode,
    TorchDispatchMode,
    is_in_torch_dispatch_mode,
    return_and_correct_aliasing,
)


class Slotted(Tensor):
    """A wrapper that keeps the tensor inside in a slot."""

    __slots__ = ("held",)

    @staticmethod
    def __new__(cls, held):
        facts = {"strides": held.stride(), "storage_offset": held.storage_offset(), "dtype": held.dtype}
        made = Tensor._make_wrapper_subclass(cls, held.size(), device=held.device, **facts)
        made.held = held
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        def unwrap(value):
            return [unwrap(each) for each in value] if isinstance(value, list) else getattr(value, "held", value)

        found = func(*map(unwrap, args), **{name: unwrap(value) for name, value in (kwargs or {}).items()})
        if isinstance(found, list | tuple):
            found = type(found)(cls(each) for each in found)
        else:
            found = cls(found) if isinstance(found, Tensor) else found
        return return_and_correct_aliasing(func, args, kwargs or {}, found)


class Changing(Slotted):
    """One whose clones are plain tensors."""

    __slots__ = ()

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return args[0].held.clone()


def memory_of(tensor):
    return StorageWeakRef(tensor.untyped_storage())


def test_a_wrapper_keeps_strides_and_offset():
    held = torchlike.ones(4, 6).t().diagonal(offset=-2)
    assert held.storage_offset()
    made = Slotted(held)
    assert (made.shape, made.stride(), made.storage_offset()) == (held.shape, held.stride(), held.storage_offset())


def test_reading_the_elements_of_a_wrapper_is_refused():
    made = Slotted(torchlike.ones(2))
    for read in (made.tolist, made.numpy):
        with pytest.raises(RuntimeError, match="is not supported for tensor subclasses"):
            read()
    assert made.data_ptr() == 0
    assert made.untyped_storage().nbytes() == 8
    with pytest.raises(RuntimeError, match="invalid python storage"):
        made.untyped_storage().data_ptr()


def test_a_copy_of_a_wrapper_is_its_class_s_clone():
    made = Slotted(torchlike.arange(3))
    made.note = ["kept"]
    made.requires_grad_(False)
    copied = copy.deepcopy([made, made])
    assert copied[0] is copied[1] is not made
    assert type(copied[0]) is Slotted
    assert copied[0].held is not made.held
    assert copied[0].held.tolist() == [0, 1, 2]
    assert copied[0].note == ["kept"]
    assert copied[0].note is not made.note
    with pytest.raises(
        RuntimeError, match="cloning returns another instance of the same subclass: Changing gave Tensor"
    ):
        copy.deepcopy(Changing(torchlike.ones(1)))


def test_files_keep_the_slots_and_the_place_of_a_wrapper():
    made = Slotted(torchlike.arange(5)[2:])
    made.note = "kept"
    file = io.BytesIO()
    torchlike.save(made, file)
    file.seek(0)
    with torchlike.serialization.safe_globals([Slotted]):
        read = torchlike.load(file)
    assert (type(read), read.dtype, read.held.tolist(), read.note) == (Slotted, torchlike.int64, [2, 3, 4], "kept")
    assert read.storage_offset() == 2


@pytest.mark.parametrize("change", [lambda x: x.view(4), lambda x: x.t(), lambda x: x[0], lambda x: x.split(1)[1]])
def test_views_of_a_wrapper_lie_in_its_memory(change):
    made = Slotted(torchlike.ones(2, 2))
    assert memory_of(change(made)) == memory_of(made)
    assert memory_of(made * 2) != memory_of(made)
    assert memory_of(made.mul_(2)) == memory_of(made)


@pytest.mark.no_pipeline(reason="recorded calls keep memory")
def test_weak_references_to_memory_know_when_it_is_gone():
    x = torchlike.ones(3)
    found, other = memory_of(x), memory_of(x.clone())
    assert found == memory_of(x[1:])
    assert hash(found) == hash(memory_of(x[1:]))
    assert found != memory_of(torchlike.ones(3))
    assert not found.expired()
    assert other.expired()


def test_a_class_s_own_text_may_stand_for_the_elements():
    class Named(Slotted):
        __slots__ = ()

        def __repr__(self):
            return super().__repr__(tensor_contents=str(self.held))

    assert str(Named(torchlike.ones(1))) == "Named(tensor([1.]))"


@pytest.mark.parametrize("block", [no_dispatch, DisableTorchDispatch])
def test_blocks_without_handlers(block):
    class Loud(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            raise AssertionError(func)

    x = torchlike.ones(2)
    with Loud(), block():
        assert (x + x).tolist() == [2, 2]


def test_modes_of_tools_are_told_apart():
    class Tool(BaseTorchDispatchMode):
        @classmethod
        def is_infra_mode(cls):
            return True

    def ask():
        return is_in_torch_dispatch_mode(), is_in_torch_dispatch_mode(include_infra_modes=False)

    with Tool():
        assert ask() == (True, False)
        with BaseTorchDispatchMode(), Tool():
            assert ask() == (True, True)
    assert ask() == (False, False)


def test_a_mode_whose_handler_is_a_classmethod_is_refused():
    class Mode(TorchDispatchMode):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    with pytest.raises(RuntimeError, match="classmethod is not supported, please make it a plain method"):
        Mode().__enter__()
    assert not is_in_torch_dispatch_mode()


def test_packets_have_their_operators_names():
    assert torchlike.ops.aten.add.__name__ == "add"
    assert torchlike.ops.aten.add_.Tensor.overloadpacket.__name__ == "add_"


def test_pickles_keep_wrappers():
    made = Slotted(torchlike.arange(6).view(2, 3).t())
    made.note = "kept"
    read = pickle.loads(pickle.dumps(made))
    assert (type(read), read.stride(), read.dtype, read.note) == (Slotted, (1, 3), torchlike.int64, "kept")
    assert read.held.tolist() == [[0, 3], [1, 4], [2, 5]]


def test_a_wrapper_does_not_become_an_object_of_another_class():
    class Other(Tensor):
        pass

    made, alike = Slotted(torchlike.ones(2)), "Other but .* already associated to a python object of type Slotted"
    for make in (lambda: made.as_subclass(Other), lambda: Tensor._make_subclass(Other, made), lambda: Other(made)):
        with pytest.raises(RuntimeError, match=alike):
            make()
    assert type(made.as_subclass(Tensor)) is Slotted
    with pytest.raises(TypeError, match="Other must define __torch_dispatch__"):
        Tensor._make_wrapper_subclass(Other, (2, 2))


def test_handlers_may_record_gradients():
    class Recording(Slotted):
        __slots__ = ()

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            with enable_reentrant_dispatch():
                return super().__torch_dispatch__(func, types, args, kwargs)

    held = torchlike.ones(2, requires_grad=True)
    plain, made = Slotted(held) * 2, Recording(held) * 2
    assert (made.requires_grad, made.held.requires_grad, plain.held.requires_grad) == (False, True, False)
    made.held.sum().backward()
    assert held.grad.tolist() == [2, 2]


class Polite(TorchDispatchMode):
    """A mode that leaves calls with tensors of other classes to them."""

    def __init__(self):
        self.asked = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.asked.append(types)
        return NotImplemented if types else func(*args, **(kwargs or {}))


def test_calls_that_a_mode_leaves_alone_go_to_the_classes():
    made = Slotted(torchlike.tensor([-1.0, 2.0]))
    with Polite() as mode:
        found = made.abs()
    assert (type(found), found.held.tolist()) == (Slotted, [1, 2])
    assert mode.asked == [(Slotted,), ()]  # the class's own calls are the mode's
    with Polite() as outer, Polite() as inner:
        made.abs()
    assert (inner.asked, outer.asked) == ([(Slotted,), ()], [()])


def test_a_mode_that_leaves_a_call_of_plain_tensors_alone_is_refused():
    class Never(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return NotImplemented

    x = torchlike.ones(2)
    with Never(), pytest.raises(KernelResultError, match=r"Multiple dispatch failed for 'aten::abs'[^?]*mode object"):
        x.abs()


def test_factories_return_the_tensor_that_a_mode_returns():
    made = []

    class Making(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            made.append(Slotted(func(*args, **(kwargs or {}))))
            return made[-1]

    with Making():
        found = [torchlike.zeros(2), torchlike.ones(2, requires_grad=True), torchlike.empty((2, 2)), torchlike.rand(3)]
    assert len(made) == len(found)
    assert all(one is other for one, other in zip(found, made, strict=True))
    assert found[1].requires_grad


def test_data_of_a_wrapper_is_made_by_its_class():
    made = Slotted(torchlike.ones(2))
    found = made.data
    assert (type(found), found.held.tolist()) == (Slotted, [1, 1])


def test_a_class_may_return_none_for_a_tensor():
    class Empty(Slotted):
        __slots__ = ()

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return None

    assert Empty(torchlike.ones(2)) + 1 is None


def test_writes_to_a_view_of_a_wrapper_are_counted():
    made = Slotted(torchlike.ones(2, 2))
    made.detach().add_(1)
    made[0].mul_(2)
    assert (made._version, made.held.tolist()) == (2, [[4, 4], [2, 2]])
    made.data.add_(1)
    assert (made._version, made.held.tolist()) == (2, [[5, 5], [3, 3]])
