"""Errors that a device reports after its kernels have returned: ``exp`` of values above 50 is one, on the device here."""

from __future__ import annotations

import numpy as np
import pytest
from racing_device import NAME, Racing, register

import dispatch_core as dc
import torchlike as t

plain = pytest.mark.no_pipeline(reason="recorded calls are launched when they run")


@pytest.fixture(params=["number", "stream"])
def late(request):
    with register(late=request.param):
        yield request.param


def make(*values):
    return t.tensor([float(each) for each in values], device=NAME)


@plain
def test_a_synchronisation_raises_it_once_and_each_use_again(late):
    good, bad = make(1), make(60)
    x = bad.exp()
    y = x + 1
    z = good + 1 if late == "number" else None
    what = "aten::exp" if late == "number" else "a call"
    with pytest.raises(
        dc.AsyncDeviceError, match=rf"{what} failed on racing after it had been launched: OverflowError"
    ):
        dc.synchronize()
    dc.synchronize()
    for wrong in (x, y):
        for _ in range(2):
            with pytest.raises(dc.AsyncDeviceError) as caught:
                wrong.tolist()
            assert isinstance(caught.value.__cause__, OverflowError)
        with pytest.raises(dc.AsyncDeviceError):
            wrong * 2
    if z is not None:
        assert z.tolist() == [2.0]
        assert bad.tolist() == [60.0]
    assert (make(1) + 1).tolist() == [2.0]


@plain
def test_a_copy_to_the_host_waits_where_its_array_is_the_cpu_s(late):
    assert (t.ones(2) + 1).tolist() == [2.0, 2.0]
    x = make(60).exp()
    with pytest.raises(dc.AsyncDeviceError):
        x.tolist()


@plain
def test_a_read_of_another_tensor_raises_it_and_then_reads(late):
    good = make(1) + 1
    good.tolist()
    make(60).exp()
    with pytest.raises(dc.AsyncDeviceError):
        good.tolist()
    assert good.tolist() == [2.0]


@plain
def test_what_reads_it_on_another_stream_is_wrong_too():
    with register(late="number"):
        default, stream = dc.runtime.default_stream(NAME), dc.Stream(NAME)
        x = make(60).exp()
        stream.wait_stream(default)
        with stream:
            y = x + 1
            w = make(1) + 1
        stream.synchronize()
        with stream:
            assert w.tolist() == [2.0]
        with pytest.raises(dc.AsyncDeviceError, match="Launched on default 0"):
            default.synchronize()
        with stream, pytest.raises(dc.AsyncDeviceError):
            y.tolist()


@plain
def test_in_place_results_are_wrong(late):
    x = make(60)
    y = x[:]
    y.exp_()
    with pytest.raises(dc.AsyncDeviceError):
        dc.synchronize()
    with pytest.raises(dc.AsyncDeviceError):
        x.tolist()


@plain
def test_blocking_raises_it_at_the_call(monkeypatch):
    monkeypatch.setenv("DISPATCH_LAUNCH_BLOCKING", "1")
    with register(late="number"):
        x = make(60)
        with pytest.raises(dc.AsyncDeviceError, match="aten::exp"):
            x.exp()
        assert x.tolist() == [60.0]


def test_a_pipeline_names_the_line():
    with register(late="number"):
        x = make(60)
        with dc.pipeline():
            y = x + 1
            z = y.exp()  # the line
        with pytest.raises(dc.AsyncDeviceError, match=r"Recorded at .*test_late_errors.py:\d+"):
            z.tolist()


def test_a_captured_function_s_replays_are_numbered(late):
    captured = t.capture(lambda x: x.exp() + 1)
    for _ in range(4):
        captured(make(1))
    found = captured(make(60))
    assert captured.stats().replays > 0
    with pytest.raises(dc.AsyncDeviceError):
        found.tolist()
    assert captured(make(0)).tolist() == [2.0]


@plain
def test_backward_goes_on_and_its_gradients_are_wrong(late):
    x = make(60).requires_grad_()
    x.exp().sum().backward()
    with pytest.raises(dc.AsyncDeviceError):
        x.grad.tolist()


@plain
def test_an_error_of_a_call_long_ago_is_the_stream_s():
    with register(late="number"):
        x = make(60).exp()
        y = make(1)
        for _ in range(3000):
            y = y + 1 - 1
        with pytest.raises(dc.AsyncDeviceError, match="a call failed"):
            dc.synchronize()
        with pytest.raises(dc.AsyncDeviceError):
            y.tolist()
    assert x is not None


@plain
def test_drawn_programs_find_what_was_made_from_a_failed_call():
    with register(late="number"):
        for seed in range(30):
            draw = np.random.default_rng(seed)
            values = [(make(1), False), (make(2), False)]
            for _ in range(12):
                one, other = (values[place] for place in draw.integers(0, len(values), 2))
                kind = draw.choice(["add", "fail", "copy"])
                if kind == "add":
                    values.append((one[0] + other[0], one[1] or other[1]))
                elif kind == "copy":
                    values.append((one[0].clone(), one[1]))
                else:
                    values.append((make(60).exp(), True))
            try:
                dc.synchronize()
            except dc.AsyncDeviceError:
                while True:
                    try:
                        dc.synchronize()
                        break
                    except dc.AsyncDeviceError:
                        continue
            for value, is_wrong in values:
                if is_wrong:
                    with pytest.raises(dc.AsyncDeviceError):
                        value.tolist()
                else:
                    value.tolist()
            assert Racing.reports == []
