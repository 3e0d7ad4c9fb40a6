"""Reports of errors that come after a synchronisation of something else: nothing that was not waited for is forgotten."""

from __future__ import annotations

import pytest
from racing_device import NAME, Racing, register

import dispatch_core as dc
import torchlike as t

pytestmark = pytest.mark.no_pipeline(reason="recorded calls are launched when they run")


@pytest.fixture
def late():
    with register(late="number"):
        yield


def make(*values):
    return t.tensor([float(each) for each in values], device=NAME)


def fail_later():
    """Return the result of a call that fails, and its report, which has not come yet."""
    x = make(60).exp()
    reports, Racing.reports = Racing.reports, []
    return x, reports


def check(x):
    with pytest.raises(dc.AsyncDeviceError, match="aten::exp failed"):
        dc.synchronize()
    for _ in range(2):
        with pytest.raises(dc.AsyncDeviceError, match="aten::exp failed"):
            x.tolist()


def test_after_another_index_was_waited_for(late):
    x, reports = fail_later()
    dc.synchronize(f"{NAME}:1")
    Racing.reports = reports
    check(x)


def test_a_wait_for_one_index_does_not_raise_another_s_error(late):
    x = make(60).exp()
    dc.synchronize(f"{NAME}:1")
    check(x)


def test_after_an_earlier_event_of_the_stream_was_waited_for(late):
    event = dc.runtime.current_stream(NAME).record_event()
    x, reports = fail_later()
    event.synchronize()
    Racing.reports = reports
    check(x)


def test_a_report_without_a_stream_is_of_every_stream(late):
    x = make(1) + 1
    Racing.reports = [(None, None, OverflowError("everything"))]
    with pytest.raises(dc.AsyncDeviceError, match="everything"):
        dc.runtime.current_stream(NAME).synchronize()
    with pytest.raises(dc.AsyncDeviceError, match="everything"):
        x.tolist()


def test_a_failed_result_stays_so_whatever_is_made_later(late):
    from dispatch_core.arrays.launches import LOGS

    x = make(60).exp()
    with pytest.raises(dc.AsyncDeviceError):
        dc.synchronize()
    y = make(1)
    kept = [y + 1 for _ in range(9000)]
    with pytest.raises(dc.AsyncDeviceError):
        x.tolist()
    assert kept[0].tolist() == [2.0]
    assert len(LOGS[NAME]._writers) < 9000


def test_a_memory_that_is_written_again_and_again_is_not_the_oldest(late):
    size = 1500
    array = t.zeros(1, device=NAME)._dispatch_data
    from dispatch_core.arrays.launches import LOGS

    log, kept = LOGS[NAME], []
    for number in range(8 * size):
        kept.append(type(array)(array.values))
        log.end(number, "one", frozenset(), [kept[-1], array])
        assert log._writers[id(array)].number == number
