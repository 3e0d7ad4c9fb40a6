"""Faults planted into a device with two indices whose errors come late: the kit finds each by the check that is about it."""

from contextlib import contextmanager
from functools import partial

import numpy as np
import paired_devices as twins
import pytest

import dispatch_core as dc
from dispatch_aten.testing.agreement import TestedDevice
from dispatch_aten.testing.interface import check_part
from dispatch_core._record import replace

pytestmark = pytest.mark.no_pipeline(reason="raw arrays are compared")


class Queue:
    """Commands whose errors are reported when the device is asked, with the number of their call."""

    def __init__(self):
        self.number, self.errors, self.in_use = None, [], False

    def launch(self, number):
        self.number = number

    def report(self):
        found, self.errors[:] = list(self.errors), []
        return found

    def index_select(self, array, dim, index):
        if index.array.size and index.array.max() >= array.array.shape[dim]:
            self.errors.append((self.number, None, IndexError("a place out of range")))
            return twins.Twin(np.zeros((index.array.size,), array.array.dtype))
        return twins.Twin(np.take(array.array, index.array, dim))


@contextmanager
def device(kernels=None, *, queue=None, array_type=twins.TWINS, **parts):
    """Register the device with kernels and parts of its interface in the places of its own; yield it as it is tested."""
    queue = Queue() if queue is None else queue
    own = {
        "current": twins.current,
        "exchange": twins.exchange,
        "synchronize": lambda index: None,
        "launched": queue.launch,
        "reports": queue.report,
    }
    interface = dc.DeviceInterface(**{**own, **parts})
    info = dc.BackendInfo("twin", array_types=(array_type,))
    made = {**twins.make_kernels(), "index_select": queue.index_select, **(kernels or {})}
    twins.thread.index = 0
    with dc.register_backend(info, made, device_interface=lambda: interface, device_count=lambda: 2):
        tested = TestedDevice.find("twin")
        queue.in_use = True
        yield tested
    twins.thread.index = 0


#: Arrays of the device of which those of integers on the second index say that they fit every one.
ANYWHERE = replace(
    twins.TWINS, device_index=lambda twin: None if twin.array.dtype.kind == "i" and twin.index else twin.index
)


def refusing(text, *, writes=False):
    """Return the device's kernels, which refuse arrays of two indices themselves, and have written to one before."""

    def make(kernel):
        def run(*args, **kwargs):
            given = [each for each in args if isinstance(each, twins.Twin)]
            if len({each.index for each in given}) > 1:
                if writes:
                    given[0].array[...] = 0
                raise ValueError(text)
            return kernel(*args, **kwargs)

        return run

    return {name: make(kernel) for name, kernel in twins.make_kernels().items()}


#: What is said of the device → its kernels.
OF_INDICES = {
    "takes arrays on twin:0 and on twin:1": {},
    "with arrays on twin:0 and twin:1: the arrays lie on two devices": refusing("the arrays lie on two devices"),
    "with arrays on twin:0 and twin:1: an array lies on twin:1": refusing("an array lies on twin:1"),
    "is refused for arrays on twin:0 and twin:1, and has changed one": refusing("twin:0, twin:1", writes=True),
}


class Shared:
    """A current device that all threads have in common."""

    index = 0

    def current(self):
        return self.index

    def exchange(self, index):
        before, self.index = self.index, index
        twins.thread.index = index
        return before


def return_the_new(index):
    twins.exchange(index)
    return index


def never_return(index):
    return twins.exchange(index) if index else twins.current()


def make_on_first(size, stride, *, dtype=None, **options):
    return twins.Twin(np.empty(size, "float32" if dtype is None else str(dtype)), 0)


def share():
    shared = Shared()
    return device(current=shared.current, exchange=shared.exchange)


OF_CURRENT = {
    "another thread's current device is [1]": share,
    "after exchange(1) the current device is 1, and was 0": lambda: device(exchange=return_the_new),
    "after work on twin:1 the current device is 1, and was 0": lambda: device(exchange=never_return),
    "with 1 as current device an array is made on twin:0": lambda: device({"empty_strided": make_on_first}),
}


class Silent(Queue):
    """A queue whose errors are lost."""

    def report(self):
        self.errors.clear()
        return []


class Repeating(Queue):
    """A queue that reports each error again."""

    def report(self):
        return list(self.errors)


class Anxious(Queue):
    """A queue that reports an error where there is none, once the device is in use."""

    def report(self):
        return [(self.number, None, OverflowError("nothing went wrong"))] if self.in_use else []


class OneBefore(Queue):
    """A queue that reports the number of the call before."""

    def launch(self, number):
        self.number, self.now = getattr(self, "now", None), number


class Broken(Queue):
    """A queue that computes nothing after an error."""

    failed = False

    def report(self):
        found = super().report()
        self.failed = self.failed or bool(found)
        return found

    def add(self, one, other, alpha=1):
        if self.failed:
            raise RuntimeError("the device gave up")
        return twins.Twin(one.array + other.array * alpha)


def break_down():
    queue = Broken()
    return device({"add.Tensor": queue.add}, queue=queue)


OF_ERRORS = {
    "index_select with a place out of range raises nothing": lambda: device(queue=Silent()),
    "an asynchronous error arrives twice": lambda: device(queue=Repeating()),
    "the late error of aten::index_select is said to be of aten::add": lambda: device(queue=OneBefore()),
    "nothing went wrong": lambda: device(queue=Anxious()),
    "the device gave up": break_down,
}
FAULTS = [
    *(("indices", said, partial(device, kernels, array_type=ANYWHERE)) for said, kernels in OF_INDICES.items()),
    *(("current device", *fault) for fault in OF_CURRENT.items()),
    *(("asynchronous errors", *fault) for fault in OF_ERRORS.items()),
]


@pytest.mark.parametrize("check", ["indices", "current device", "asynchronous errors"])
def test_the_device_has_no_faults_of_its_own(check):
    with device() as tested:
        outcome = check_part(tested, check)
    assert (outcome.status, outcome.reason) == ("passed", "")


@pytest.mark.parametrize(("check", "said", "make"), FAULTS, ids=[f"{check}: {said}" for check, said, _ in FAULTS])
def test_a_planted_fault_is_found(check, said, make):
    with make() as tested:
        outcome = check_part(tested, check)
    assert outcome.status == "failed"
    assert said in outcome.reason
