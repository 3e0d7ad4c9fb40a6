"""Marks of memory that a failed call has written: they go where all of it is overwritten, and the device can give up."""

from __future__ import annotations

import pytest
import questions_device
from questions_device import VendorError, state

import dispatch_core as dc
import torchlike as t
from dispatch_core.arrays.launches import LOGS

resets = []


@pytest.fixture(autouse=True)
def device(monkeypatch):
    monkeypatch.setenv("DISPATCH_ACCELERATOR", "twin")
    resets.clear()
    with questions_device.register(reset=resets.append):
        yield


def fail(write, *values):
    """Return a tensor that a failed call has written, all of it where ``write`` does."""
    x = t.tensor([float(each) for each in values or range(6)], device="twin")
    t.twin.synchronize()
    t.twin.break_next()
    write(x)
    with pytest.raises(dc.AsyncDeviceError, match="the card is too hot"):
        t.twin.synchronize()
    with pytest.raises(dc.AsyncDeviceError):
        x.tolist()
    return x


plain = pytest.mark.no_pipeline(reason="calls are launched when they run")


@plain
@pytest.mark.parametrize(
    ("name", "overwrite"),
    {
        "zero_": lambda x: x.zero_(),
        "fill_": lambda x: x.fill_(0),
        "fill_ of a tensor": lambda x: x.fill_(t.zeros((), device="twin")),
        "copy_": lambda x: x.copy_(t.zeros(6, device="twin")),
        "copy_ of the cpu's": lambda x: x.copy_(t.zeros(6)),
        "through a view": lambda x: x.view(2, 3).t().zero_(),
        "out": lambda x: t.mul(t.zeros(6, device="twin"), 1.0, out=x),
    }.items(),
)
def test_a_call_that_overwrites_all_takes_the_mark_away(name, overwrite):
    x = fail(lambda x: x.add_(x))
    overwrite(x)
    assert x.tolist() == [0.0] * 6 and (x + 1).tolist() == [1.0] * 6
    t.twin.synchronize()


@plain
def test_in_a_pipeline_too():
    x = fail(lambda x: x.add_(x))
    with t.pipeline():
        x.zero_()
        y = x + 1
    assert y.tolist() == [1.0] * 6


@plain
@pytest.mark.parametrize(
    "overwrite",
    [lambda x: x[:3].zero_(), lambda x: x[::2].fill_(0), lambda x: x.mul_(0), lambda x: x[:5].copy_(t.zeros(5))],
)
def test_a_call_that_overwrites_a_part_or_reads_does_not(overwrite):
    x = fail(lambda x: x.add_(x))
    with pytest.raises(dc.AsyncDeviceError):
        overwrite(x)
    with pytest.raises(dc.AsyncDeviceError):
        x.tolist()


@plain
def test_the_part_that_failed_is_enough():
    x = fail(lambda x: x[1:3].add_(x[1:3]))
    with pytest.raises(dc.AsyncDeviceError):
        x[1:2].zero_()
    x[1:4].zero_()
    assert x.tolist() == [0.0, 0.0, 0.0, 0.0, 4.0, 5.0]


@plain
def test_an_overwrite_before_the_report_counts_too():
    x = t.arange(3.0, device="twin")
    t.twin.synchronize()
    t.twin.break_next()
    x.add_(x)
    x.zero_()
    y = x + 1
    with pytest.raises(dc.AsyncDeviceError):
        t.twin.synchronize()
    assert x.tolist() == [0.0] * 3 and y.tolist() == [1.0] * 3


@plain
def test_an_overwrite_that_fails_marks_again():
    x = fail(lambda x: x.add_(x))
    t.twin.break_next()
    x.zero_()
    with pytest.raises(dc.AsyncDeviceError):
        t.twin.synchronize()
    with pytest.raises(dc.AsyncDeviceError):
        x.tolist()


@plain
def test_errors_that_nothing_reads_are_bounded():
    x = t.ones(2, device="twin")
    log = LOGS["twin"]
    for _ in range(40):
        for _ in range(4):
            t.twin.break_next()
            x + x
        with pytest.raises(dc.AsyncDeviceError):
            t.twin.synchronize()
    assert len(log._unread) == 63  # 64 but for the one that was raised
    while True:
        try:
            t.twin.synchronize()
            break
        except dc.AsyncDeviceError:
            continue
    assert (x + 1).tolist() == [2.0, 2.0]


@plain
def test_memory_of_failed_calls_is_bounded():
    array = t.ones(1, device="twin")._dispatch_data
    log, kept = LOGS["twin"], []
    for number in range(-20_000, 0):
        kept.append(type(array)(array.array.copy(), 0))
        log._failed[number] = dc.AsyncDeviceError("failed")
        log.end(number, "one", frozenset(), [kept[-1]])
    assert len(log._writers) <= 3 * 4096 and len(log._failed) <= 4 * 4096
    for each in (kept[-1], kept[-4000]):
        with pytest.raises(dc.AsyncDeviceError):
            log.begin([each])


@plain
@pytest.mark.parametrize("how", ["reported", "raised"])
def test_a_device_that_cannot_go_on_refuses_all_work_until_it_is_reset(how, monkeypatch):
    x, other = t.ones(2, device="twin"), t.ones(2, device="twin:1")
    y = x + 1
    error = dc.DeviceLostError("the card fell off the bus")
    if how == "reported":
        state.reports.append((None, None, error))
    else:
        monkeypatch.setattr(state, "launch", lambda: (_ for _ in ()).throw(error))
    with pytest.raises(dc.DeviceLostError, match="fell off the bus"):
        t.twin.synchronize() if how == "reported" else x + 1
    monkeypatch.undo()
    for call in (lambda: x + 1, x.tolist, lambda: t.ones(2, device="twin"), x.zero_):
        with pytest.raises(dc.DeviceLostError, match="fell off the bus"), t.twin.device(0):
            call()
    assert (other * 2).tolist() == [2.0, 2.0] if how == "raised" else True
    monkeypatch.setenv("DISPATCH_ACCELERATOR", "twin")
    t.twin.reset_device(0)
    assert resets == [0] and (t.ones(2, device="twin") + 1).tolist() == [2.0, 2.0]
    with pytest.raises(dc.AsyncDeviceError, match="was lost when the device was reset"):
        y.tolist()
    t.twin.synchronize()


def test_a_device_without_the_part_cannot_be_reset():
    with pytest.raises(dc.BackendError, match="Backend cpu doesn't support a reset"):
        dc.runtime.reset_device("cpu")
    assert issubclass(dc.DeviceLostError, t.AcceleratorError) and VendorError is not None
