"""Memory that the user holds too: calls read copies of it meanwhile, those that write run at once."""

import _thread
import ctypes
import gc
import signal
import threading

import numpy as np
import pytest

import dispatch_core as dc
import torchlike
from dispatch_core.arrays import lent_memory
from dispatch_core.arrays.access import storage_of
from dispatch_core.interrupts import by_subscript
from dispatch_pipelines.record.array_specs import ARRAY_SPECS, read_spec

pytestmark = pytest.mark.no_pipeline(reason="the tests open pipelines of their own")


@pytest.fixture
def pipe():
    with dc.pipeline() as opened:
        yield opened


def reasons(pipe):
    return {reason for _, reason in pipe.stats().eager}


def is_held(tensor):
    """Return whether a call that reads a tensor in the open pipeline is recorded on a copy."""
    stats = dc.current_pipeline().stats
    before = stats.copies
    assert (tensor + 1)._pending
    return stats.copies > before


def make():
    return torchlike.ones(4)


class Consumer:
    """Holds memory as another library does that has taken it by DLPack."""

    def __init__(self, tensor):
        self.array = np.from_dlpack(tensor)

    def write(self, number):
        # NumPy hands it out as read-only.
        address = self.array.__array_interface__["data"][0]
        (ctypes.c_float * self.array.size).from_address(address)[:] = [number] * self.array.size


class Address:
    """Writes by a pointer, which nothing says the life time of."""

    def __init__(self, tensor):
        self.pointer = (ctypes.c_float * tensor.numel()).from_address(tensor.data_ptr())

    def write(self, number):
        self.pointer[:] = [number] * len(self.pointer)


class Array:
    """Holds an array in the tensor's memory."""

    def __init__(self, array):
        self.array = array

    def write(self, number):
        self.array[...] = number


def source(make=lambda array: array, take=torchlike.from_numpy):
    array = np.ones(4, np.float32)
    tensor = take(make(array))
    return tensor, Array(array)


def base():
    tensor = make()
    return tensor[1:], Array(tensor.numpy())


def lend_and_return():
    """Take back memory that was lent, and forget it."""
    tensor, user = lend()
    torchlike.from_numpy(user.array)
    return tensor, user


def lend(show=lambda tensor: tensor.numpy()):
    tensor = make()
    return tensor, Array(show(tensor))


#: How memory comes to be held by the user too: functions that return a tensor, and the object to write by.
LENDERS = {
    "from_numpy": source,
    "from_numpy of a slice, whose owner is held": lambda: source(lambda array: array[1:3]),
    "from_numpy of a broadcast array": lambda: source(lambda array: np.broadcast_to(array, (2, 4))),
    "as_tensor": lambda: source(take=torchlike.as_tensor),
    "from_numpy of a memory view": lambda: source(lambda array: np.asarray(memoryview(array))),
    "numpy": lend,
    "numpy by force": lambda: lend(lambda tensor: tensor.numpy(force=True)),
    "numpy of a view": lambda: lend(lambda tensor: tensor[1:].numpy()),
    "numpy of the base": base,
    "a view of what numpy gave": lambda: lend(lambda tensor: tensor.numpy()[1:].reshape(3, 1).T),
    "asarray": lambda: lend(np.asarray),
    "a memory view": lambda: lend(lambda tensor: np.asarray(memoryview(tensor.numpy()))),
    "from_numpy of what numpy gave": lend_and_return,
    "DLPack": lambda: (tensor := make(), Consumer(tensor)),
    "data_ptr": lambda: (tensor := make(), Address(tensor)),
}


@pytest.mark.parametrize("lend", LENDERS.values(), ids=LENDERS)
def test_calls_on_memory_that_the_user_holds_read_copies(pipe, lend):
    tensor, user = lend()
    before = tensor + 1
    user.write(100)
    after = tensor + 1
    taken = torchlike.cat([tensor, tensor])
    view = tensor.reshape(-1)[1:] * 2
    user.write(7)
    assert set(before.flatten().tolist()) == {2.0}
    assert 101.0 in after.flatten().tolist() and 8.0 not in after.flatten().tolist()
    assert 100.0 in taken.flatten().tolist() and 7.0 not in taken.flatten().tolist()
    assert 200.0 in view.tolist() and 14.0 not in view.tolist()
    assert not reasons(pipe) and pipe.stats().copies == 4


WRITTEN = {name: lend for name, lend in LENDERS.items() if name != "from_numpy of a broadcast array"}


@pytest.mark.parametrize("lend", WRITTEN.values(), ids=WRITTEN)
def test_writes_to_memory_that_the_user_holds_are_seen_at_once(pipe, lend):
    tensor, user = lend()
    array = user.pointer if isinstance(user, Address) else user.array
    tensor[1:].add_(1)
    assert 2.0 in np.asarray(array).ravel()
    tensor.fill_(4)
    assert 4.0 in np.asarray(array).ravel()
    torchlike.add(tensor, tensor, out=tensor)
    assert 8.0 in np.asarray(array).ravel()
    assert reasons(pipe) == {"lent"}


TAKERS = {
    "numpy": lambda t: Array(t.numpy()),
    "asarray": lambda t: Array(np.asarray(t)),
    "DLPack": Consumer,
    "data_ptr": Address,
}


@pytest.mark.parametrize("take", TAKERS.values(), ids=TAKERS)
def test_handing_out_runs_steps_that_read_or_write_the_memory(pipe, take):
    a, other = make(), make()
    beside = other + 1
    read = a + 1
    row = a[1:]
    row.mul_(3)
    again = a * 1
    user = take(a)
    assert beside._pending and not (read._pending or again._pending or row._pending)
    user.write(50)
    assert (read.tolist(), again.tolist()) == ([2.0] * 4, [1.0, 3.0, 3.0, 3.0])
    assert row.tolist() == [50.0] * 3


def test_handing_out_runs_steps_of_other_pipelines(pipe):
    a = make()
    outer = a + 1
    with dc.pipeline():
        inner = a + 2
        array = a.numpy()
        assert not (outer._pending or inner._pending)
    array[:] = 9

    b, ready, go = make(), threading.Event(), threading.Event()
    found = []

    def record():
        with dc.pipeline():
            made_there = b + 1
            ready.set()
            go.wait(10)
            found.append(made_there.tolist())

    thread = threading.Thread(target=record)
    thread.start()
    ready.wait(10)
    b.numpy()[:] = 100
    go.set()
    thread.join(10)
    assert found == [[2.0] * 4]


def test_calls_are_recorded_again_once_the_memory_is_released(pipe):
    a = make()
    array = a.numpy()
    part = array[1:]
    del array
    assert is_held(a)
    del part
    assert not is_held(a)

    big = np.ones(8, np.float32)
    b, c = torchlike.from_numpy(big[2:5]), torchlike.from_numpy(big[3:])
    assert is_held(b)
    view = big[:1]
    del big
    assert is_held(b) and is_held(c)
    del view
    assert not is_held(b) and (c + 1)._pending
    # Memory identity is the owner's still.
    read = b * 1
    c.add_(1)
    assert (read.tolist(), b.tolist()) == ([1.0] * 3, [1.0, 2.0, 2.0])


def test_an_array_that_came_back_is_not_held(pipe):
    a = make()
    b = torchlike.from_numpy(a.numpy())
    read = a + 1
    b.add_(1)
    assert read._pending and b._pending
    assert (read.tolist(), a.tolist()) == ([2.0] * 4, [2.0] * 4)


def test_inputs_that_are_not_held_elsewhere_are_recorded(pipe):
    tensors = [torchlike.from_numpy(np.ones(3)), torchlike.from_numpy(np.ones((4, 4))[1:, ::2])]
    assert all((tensor + 1)._pending and tensor.add_(1)._pending for tensor in tensors)
    assert not reasons(pipe)


def test_an_address_is_held_as_long_as_the_memory(pipe):
    a = make()
    view = a[1:]
    a.data_ptr()
    del a
    assert is_held(view)
    assert (view.clone() + 1)._pending


def test_read_only_memory_is_not_lent(pipe):
    array = np.ones(3)
    array.flags.writeable = False
    tensor = torchlike.from_numpy(array)
    assert not is_held(tensor)
    data = torchlike.from_numpy(np.frombuffer(bytes(8), np.float32))
    assert not is_held(data)
    given = tensor.numpy()
    assert not given.flags.writeable
    assert not is_held(tensor)
    # A view that may not be written shows memory that others may.
    owner = np.ones(3)
    shown = owner.view()
    shown.flags.writeable = False
    assert is_held(torchlike.from_numpy(shown))


def test_where_it_cannot_be_known_who_holds_memory_it_is_lent(pipe):
    tensor = torchlike.from_numpy(np.frombuffer(bytearray(8), np.float32))
    assert is_held(tensor)


def test_inputs_that_stay_unchanged_are_recorded_like_any_others():
    array = np.ones(3, np.float32)
    tensor = torchlike.from_numpy(array)
    with dc.pipeline(inputs_unchanged=True) as pipe:
        made_of_it = torchlike.cat([tensor, tensor]) + 1
        tensor.mul_(2)
        assert made_of_it._pending and tensor._pending
        with dc.pipeline() as inner:
            # It is the block that promises; the outer one has still to write.
            assert not (tensor + 1)._pending
        assert reasons(inner) == {"lent"}
    assert not reasons(pipe)
    assert (made_of_it.tolist(), array.tolist()) == ([2.0] * 6, [2.0] * 3)
    with pytest.raises(dc.ArgumentError, match="'inputs_unchanged' must be a bool or None, not 1"):
        dc.pipeline(inputs_unchanged=1)


def test_entries_of_lent_memory_go_with_it():
    gc.collect()
    before = len(lent_memory.LENT), len(lent_memory.PINNED)
    tensor = make()
    array, other = tensor[1:].numpy(), torchlike.from_numpy(np.ones(3))
    tensor.data_ptr()
    assert len(lent_memory.LENT) == before[0] + 2
    del array, other, tensor
    assert (len(lent_memory.LENT), len(lent_memory.PINNED)) == before


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_entries_of_an_array_go_with_it_where_an_interrupt_waits():
    press_ctrl_c = by_subscript(_thread.interrupt_main)

    def let_go(box):
        press_ctrl_c[signal.SIGINT]
        box.clear()

    box = [np.ones((2, 3))]
    torchlike.ones(1)  # loads the devices
    read_spec(box[0])
    lent_memory.pin(box[0])
    key, place = id(box[0]), storage_of(box[0])
    assert key in ARRAY_SPECS and place in lent_memory.PINNED
    with pytest.raises(KeyboardInterrupt):
        let_go(box)
    assert key not in ARRAY_SPECS and place not in lent_memory.PINNED


def test_a_program_of_its_own_lends_nothing():
    with dc.pipeline() as pipe:
        x = torchlike.tensor(np.ones((2, 3)))
        y = (x.clone() * 2).tolist(), repr(x), np.array(x + 1, np.float32), (x + 2).sum().item()
        assert y and x.add_(1)._pending
    assert not reasons(pipe)


def test_raw_arrays_are_the_callers_to_write(pipe):
    array = np.zeros(2)
    value = dc.ops.aten.add(array, 1)
    assert dc.ops.aten.add_(array, 1) is array
    assert (array.tolist(), value.result().tolist()) == ([1.0, 1.0], [1.0, 1.0])
    assert reasons(pipe) == {"others can see the memory that it writes to"}


@pytest.mark.parametrize("name", ["add", "add_", "mul_", "copy_", "lerp", "cat", "sum", "sort"])
def test_calls_that_are_compiled_in_see_that_memory_is_lent(pipe, name):
    def call(tensor, other):
        if name == "cat":
            return torchlike.cat([other, tensor])
        arguments = {"lerp": (other, 0.5), "sum": (), "sort": ()}.get(name, (other,))
        return getattr(tensor, name)(*arguments)

    tensor, other = make(), make()
    for _ in range(3):  # The first call compiles the code of the others.
        call(tensor, other)
    array = tensor.numpy()
    for _ in range(3):
        call(tensor, other)
    stats = pipe.stats()
    assert (stats.copies, reasons(pipe)) == ((0, {"lent"}) if name.endswith("_") else (3, set()))
    assert sum(stats.eager.values()) in {0, 3}
    del array
    call(tensor, other)
    assert sum(pipe.stats().eager.values()) == sum(stats.eager.values()) and pipe.stats().copies == stats.copies


def test_threads_that_lend_and_give_up_one_memory_leave_nothing_behind():
    before = dict(lent_memory.LENT)
    tensor, source = make(), np.ones(6, np.float32)
    faults = []

    def lend():
        for _ in range(300):
            array, other = tensor.numpy(), torchlike.from_numpy(source[1:])
            with dc.pipeline():
                if not (is_held(tensor) and is_held(other)):
                    faults.append(array)
            del array, other

    threads = [threading.Thread(target=lend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not faults
    with dc.pipeline():
        assert not is_held(tensor)
    tensor = None
    gc.collect()
    assert before == lent_memory.LENT


@pytest.mark.parametrize("back", [lambda given: given, lambda given: given[1:], lambda given: given.view()])
def test_an_array_given_out_is_lent_on_when_a_tensor_that_it_came_back_to_is_gone(back):
    x = torchlike.zeros(3)
    given = x.numpy()
    with dc.pipeline() as pipe:
        _ = torchlike.from_numpy(back(given)) + 1
        del _
        x += 1
        given[:] = 5
        y = x * 2
    assert x.tolist() == [5.0] * 3
    assert y.tolist() == [10.0] * 3
    assert pipe.stats().eager["aten::add_.Scalar", "lent"] == 1
    del given
    with dc.pipeline() as pipe:
        x += 1
    assert not pipe.stats().eager
