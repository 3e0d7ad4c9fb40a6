"""Faults planted into a device with two indices and commands that run late: the kit finds each, by a text about it."""

import numpy as np
import paired_devices as twins
import pytest
import queued_devices as queued

from dispatch_aten.testing.checks import run_check

pytestmark = pytest.mark.no_pipeline(reason="raw arrays are compared")
#: The checks of a device without faults.
CHECKS = [
    "indices",
    "streams",
    "events",
    "waiting for events",
    "delayed commands",
    "copies between devices",
    "current device",
    "memory figures",
    "out of memory",
    "leaks",
    "generators",
    "asynchronous errors",
    "aten::mul.Tensor",
    "aten::empty.memory_format",
]


@pytest.mark.parametrize("check", CHECKS)
def test_the_device_has_no_faults_of_its_own(check):
    with queued.device() as tested:
        outcome = run_check(tested, check)
    assert (outcome.status, outcome.reason) == ("passed", "")


def put_first(device):
    """Put every array on the first device."""
    return {"prims::device_put": lambda data, *, device: twins.Twin(np.array(data), 0)}


def make_first(device):
    def empty(size, *, dtype=None, **options):
        return twins.Twin(np.empty(size, "float32" if dtype is None else str(dtype)), 0)

    return {"empty.memory_format": empty}


def multiply_on_first(device):
    def mul(self, other):
        device.finish()
        return twins.Twin(np.asarray(self.array * getattr(other, "array", other)), 0)

    return {"mul.Tensor": mul}


def keep(device):
    """Keep memory at each call."""

    def mul(self, other):
        device.kept += 512
        return twins.Twin(np.asarray(self.array * getattr(other, "array", other)), self.index)

    return {"mul.Tensor": mul}


def return_another(device):
    """Write in place, and return another array with the same memory."""

    def add_(self, other, *, alpha=1):
        device.finish()
        self.array[...] += (alpha * getattr(other, "array", other)).astype(self.array.dtype)
        return twins.Twin(self.array, self.index)

    return {"add_.Tensor": add_}


def end_early(device):
    """Compute the first 65,536 elements alone."""

    def exp(self):
        device.finish()
        found = twins.make_kernels()["exp"](self)
        found.array.reshape(-1)[1 << 16 :] = 0
        return found

    return {"exp": exp}


#: Check → what is said → the faults' names, and kernels.
FAULTS = [
    ("waiting for events", "wait(event, stream)", ("events hold nothing back",), None),
    ("waiting for events", "query(stream) says that a stream is done, and commands wait", ("streams are done",), None),
    ("copies between devices", "of work on twin:0 that was late", ("copies do not wait",), None),
    ("copies between devices", "late to twin:1 of an array written to later", ("copies are not waited for",), None),
    ("indices", "dispatch_device_count() says 2", (), put_first),
    ("indices", "with device=twin:1 makes an array on twin:0", (), make_first),
    ("aten::empty.memory_format", "the result of a call on twin:1 lies on twin:0", (), make_first),
    ("asynchronous errors", "the late error of aten::index_select is said to be of", ("numbers are read late",), None),
    ("generators", "generator(1).seed(8) changes the state of generator(0)", ("one engine",), None),
    ("generators", "after set_state() of the same generator", ("half of a state",), None),
    ("memory figures", "of stats(1) grows by 0 for an array", ("one figure",), None),
    ("memory figures", "after reset_peaks(0) allocated_bytes.all.peak is", ("peaks stay",), None),
    ("out of memory", "raises MemoryError, and interface.out_of_memory is Full", ("another error",), None),
    ("aten::mul.Tensor", "at each call by about 512", (), keep),
    ("aten::exp", "size 70,001", (), end_early),
    ("aten::add_.Tensor", "the result is another array than argument 'self'", (), return_another),
    ("aten::mul.Tensor", "the result of a call on twin:1 lies on twin:0", (), multiply_on_first),
]


@pytest.mark.parametrize(
    ("check", "said", "faults", "kernels"), FAULTS, ids=[f"{each[0]}: {each[1]}" for each in FAULTS]
)
def test_a_planted_fault_is_found(check, said, faults, kernels):
    with queued.device(*faults, kernels=kernels) as tested:
        outcome = run_check(tested, check)
    assert outcome.status == "failed"
    assert said in outcome.reason
    assert "Profiler" not in outcome.reason
    if kernels and check.startswith("aten::"):
        assert "test_planted_late.py" in outcome.place or "queued_devices.py" in outcome.place


@pytest.mark.parametrize(
    ("check", "fault"),
    [("waiting for events", "events hold nothing back"), ("copies between devices", "copies do not wait")],
)
def test_a_fault_of_a_device_without_a_queue_is_found_by_long_work(check, fault):
    with queued.device(queue=None) as tested:
        assert run_check(tested, check).status == "passed"
    said = ""
    for _ in range(3):  # on a busy machine the work may be done when it is looked at
        with queued.device(fault, queue=None) as tested:
            said = said or run_check(tested, check).reason
    assert "late" in said
