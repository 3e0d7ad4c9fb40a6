"""Arrays that cross to the user and back are lent as long as without the compiled front."""

from __future__ import annotations

import gc
import os
import threading
import weakref

import pytest

if "DISPATCH_TEST_NATIVE" not in os.environ:
    pytest.importorskip("dispatch_calls_native._front", reason="the extension is not built: run nox -s native")

import numpy as np

import torchlike as T
from dispatch_core.arrays import lent_memory
from dispatch_core.arrays.access import storage_of
from dispatch_core.calls.native import find_front
from dispatch_core.frontends import Holder
from torchlike.tensors import arrays

front = find_front()
pytestmark = pytest.mark.skipif(front is None, reason="the compiled front is turned off")
SOURCES = {
    "a vector": lambda: np.arange(3.0),
    "a matrix": lambda: np.ones((2, 3), np.float32),
    "no dimensions": lambda: np.array(2.5),
    "no elements": lambda: np.ones((0, 3)),
    "sizes of one": lambda: np.ones((1, 4, 1), np.int64),
    "truth values": lambda: np.array([True, False]),
    "complex": lambda: np.ones(2, np.complex64),
    "halves": lambda: np.ones(2, np.float16),
    "columns": lambda: np.ones((2, 3), order="F"),
    "a part": lambda: np.arange(6.0)[1:4],
    "steps": lambda: np.arange(6.0)[::2],
    "a row": lambda: np.ones((2, 3))[1],
    "read-only": lambda: _read_only(np.ones(2)),
    "bytes": lambda: np.frombuffer(b"abcd", np.uint8),
    "a class of its own": lambda: np.ones(2).view(np.memmap),
    "of a tensor": lambda: T.ones(2).numpy(),
}


def _read_only(array):
    array.flags.writeable = False
    return array


def show(make):
    """Return what shows of an array that comes in, of the tensor's memory, and of what comes out of it."""
    source = make()
    tensor = T.from_numpy(source)
    data = tensor._dispatch_data
    out = tensor.numpy()
    key = storage_of(data)
    found = [
        tensor.shape, tensor.stride(), tensor.storage_offset(), tensor.untyped_storage().nbytes(), tensor.tolist(),
        type(data.base), data.flags.writeable, np.shares_memory(source, data) or not source.size, out.strides,
        T.from_numpy(source)._dispatch_data is data, storage_of(T.from_numpy(source)._dispatch_data) == key,
        lent_memory.is_lent(key), [type(each).__name__ for each in lent_memory.LENT.get(key, ())],
    ]  # fmt: skip
    del out
    found.append(lent_memory.is_lent(key))
    del source
    found.append(lent_memory.is_lent(key))
    del tensor, data
    gc.collect()
    found.append(key in lent_memory.LENT)
    return found


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writ")
@pytest.mark.parametrize("name", SOURCES)
def test_an_array_is_lent_alike(name):
    served = show(SOURCES[name])
    was = front.serve(False)
    try:
        assert show(SOURCES[name]) == served
    finally:
        front.serve(was)


def test_an_array_is_lent_while_the_user_has_it():
    source = np.ones(3)
    tensor = T.from_numpy(source)
    key = storage_of(tensor._dispatch_data)
    assert lent_memory.is_lent(key)
    other = T.from_numpy(source)
    assert storage_of(other._dispatch_data) == key
    del source
    assert not lent_memory.is_lent(key)
    del tensor, other
    assert key not in lent_memory.LENT


def test_one_memory_may_have_several_holders():
    source = np.ones(3)
    tensor = T.from_numpy(source)
    key = storage_of(tensor._dispatch_data)
    outs = [tensor.numpy() for _ in range(3)]
    assert len(lent_memory.LENT[key]) == 4
    while outs:
        del outs[0]
        assert lent_memory.is_lent(key)
    assert len(lent_memory.LENT[key]) == 1
    del source
    assert not lent_memory.is_lent(key)


@pytest.mark.parametrize("is_compiled", [False, True])
def test_memory_whose_address_was_read_has_one_entry(is_compiled):
    was = front.serve(is_compiled)
    try:
        tensor = T.ones(3)
        key = storage_of(tensor._dispatch_data)
        out = tensor.numpy()
        tensor.data_ptr()
        assert len(lent_memory.LENT[key]) == 2
        outs = [tensor.numpy() for _ in range(3)]
        del out
        assert len(lent_memory.LENT[key]) == 1
        back = T.from_numpy(outs[0])
        outs.clear()
        assert lent_memory.is_lent(key) and storage_of(back._dispatch_data) == key
        del tensor, back
        gc.collect()
        assert key not in lent_memory.LENT
    finally:
        front.serve(was)


def test_many_arrays_leave_nothing_behind():
    before = len(lent_memory.LENT)
    kept = [(source, T.from_numpy(source)) for source in (np.full(2, number) for number in range(600))]
    assert [tensor.tolist()[0] for _, tensor in kept] == list(range(600))
    assert len(lent_memory.LENT) == before + 600
    assert all(
        T.from_numpy(source)._dispatch_data.base.obj is tensor._dispatch_data.base.obj for source, tensor in kept
    )
    kept.clear()
    assert len(lent_memory.LENT) == before
    for number in range(2000):
        T.from_numpy(np.full(2, number))
    assert len(arrays._sources) < 2000


def test_an_array_that_dies_with_a_cycle_is_lent_no_more():
    source = np.ones(3)
    cycle = [T.from_numpy(source)]
    key = storage_of(cycle[0]._dispatch_data)
    cycle.append(cycle)
    del cycle
    gc.collect()
    assert key not in lent_memory.LENT
    assert weakref.getweakrefcount(source) == 0


def test_threads_that_take_one_array_over_lend_it_as_one():
    source, faults = np.ones(4), []

    def take():
        for _ in range(2000):
            tensor = T.from_numpy(source)
            out = tensor.numpy()
            if not lent_memory.is_lent(storage_of(tensor._dispatch_data)):
                faults.append(out)

    threads = [threading.Thread(target=take) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not faults
    gc.collect()
    assert id(source) not in lent_memory.LENT


def test_what_fails_in_a_step_is_left_to_python_and_an_interrupt_goes_on():
    def borrow(show, **parts):
        given = {"sources": {}, "holder": Holder, **parts}
        lending = front.Lending(
            {}, [], lent_memory.lend, lent_memory.forget, given["sources"], given["holder"], np.ndarray, show
        )
        return lending.borrow(np.ones(2))

    def fail(error):
        def show(memory):
            raise error

        return show

    class Failing(Holder):
        def __init__(self, *args):
            raise ValueError("no holder")

    assert borrow(np.asarray).tolist() == [1, 1]
    assert borrow(fail(ValueError("no array"))) is None
    assert borrow(lambda memory: np.ones(3, np.float32)) is None
    assert borrow(np.asarray, holder=Failing) is None
    assert front.Lending({}, [print], print, print, {}, Holder, np.ndarray, np.asarray).borrow(np.ones(2)) is None
    with pytest.raises(KeyboardInterrupt):
        borrow(fail(KeyboardInterrupt()))
    for wrong in ((), ({}, (), print, print, {}, Holder, np.ndarray, np.asarray), ([], [], 1, 1, {}, Holder, int, 1)):
        with pytest.raises(TypeError):
            front.Lending(*wrong)
