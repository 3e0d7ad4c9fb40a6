"""Streams and events on a machine without an accelerator, and factories that are to pin memory, as torch has them."""

import pytest
import torch

import dispatch_core as dc
import torchlike

if torch.accelerator.is_available() or torchlike.accelerator.is_available():
    pytest.skip("there is an accelerator", allow_module_level=True)

CALLS = {
    "stream": lambda t: repr(t.Stream()),
    "stream of cpu": lambda t: repr(t.Stream("cpu")),
    "stream of a device": lambda t: repr(t.Stream(device=t.device("cpu", 0), priority=1)),
    "stream of meta": lambda t: repr(t.Stream("meta")),
    "stream of None": lambda t: repr(t.Stream(None, priority=-1)),
    "stream by number": lambda t: t.Stream(stream_id=0, device_index=0, device_type=0).stream_id,
    "equal streams": lambda t: (t.Stream("cpu") == t.Stream("cpu:0"), t.Stream("cpu") == t.Stream("meta")),
    "attributes": lambda t: (t.Stream("cpu").stream_id, t.Stream("cpu").device_index, str(t.Stream("cpu:0").device)),
    "stream of an index": lambda t: t.Stream(0),
    "stream by position": lambda t: t.Stream("cpu", 1),
    "stream of a number": lambda t: t.Stream(1.5),
    "stream of an unknown device": lambda t: t.Stream("x"),
    "a part of its numbers": lambda t: t.Stream(stream_id=0),
    "priority of text": lambda t: t.Stream("cpu", priority="a"),
    "query": lambda t: (t.Stream("cpu").query(), t.Stream("cpu").synchronize(), t.Stream("meta").query()),
    "is_capturing": lambda t: t.Stream("cpu").is_capturing(),
    "record_event": lambda t: t.Stream("cpu").record_event(),
    "wait_event": lambda t: t.Stream("cpu").wait_event(t.Event("cpu")),
    "wait_stream": lambda t: t.Stream("cpu").wait_stream(t.Stream("cpu")),
    "event": lambda t: (
        repr(t.Event()),
        repr(t.Event("cpu", enable_timing=True)),
        repr(t.Event("meta", blocking=True)),
    ),
    "event of an index": lambda t: t.Event(0),
    "event of a number": lambda t: t.Event(1.5),
    "event by position": lambda t: t.Event("cpu", True),
    "event's record": lambda t: t.Event("cpu").record(),
    "event's record in": lambda t: t.Event("cpu").record(t.Stream("cpu")),
    "event's query": lambda t: (t.Event("cpu").query(), t.Event("cpu").synchronize(), t.Event("cpu").wait()),
    "event's time": lambda t: t.Event("cpu").elapsed_time(t.Event("cpu")),
    "timed event's time": lambda t: t.Event(enable_timing=True).elapsed_time(t.Event(enable_timing=True)),
    "event's attributes": lambda t: (str(t.Event("cpu").device), t.Event("cpu").event_id),
    "record_stream": lambda t: t.ones(1).record_stream(t.Stream("cpu")),
    "accelerator": lambda t: (t.accelerator.current_accelerator(True), t.accelerator.device_count()),
    "accelerator's stream": lambda t: t.accelerator.current_stream(),
    "accelerator's set_stream": lambda t: t.accelerator.set_stream(None),
    "accelerator's set_stream of cpu": lambda t: t.accelerator.set_stream(t.Stream("cpu")),
    "cpu's stream": lambda t: (t.cpu.Stream(2).wait_stream(None), t.cpu.Stream().record_event()),
    "cpu's event": lambda t: (t.cpu.Event().query(), t.cpu.Event().record(), t.cpu.Event().wait(None)),
    "cpu's functions": lambda t: (t.cpu.current_device(), t.cpu.device_count(), t.cpu.set_device(0)),
    "pinned": lambda t: t.empty(2, pin_memory=True),
    "pinned like": lambda t: t.zeros_like(t.ones(2), pin_memory=True),
    "pinned new": lambda t: t.ones(2).new_full((2,), 1, pin_memory=True),
    "pinned tensor": lambda t: t.tensor([1.0], pin_memory=True),
    "pinned sparse": lambda t: t.empty(2, layout=t.sparse_coo, pin_memory=True),
    "pinned out": lambda t: t.zeros(2, out=t.empty(2), pin_memory=True).tolist(),
    "pinned meta": lambda t: t.ones(2, device="meta", pin_memory=True).shape[0],
    "pinned by None": lambda t: t.ones(2, pin_memory=None).tolist(),
    "pinned by a number": lambda t: t.ones(2, pin_memory=1),
    "tensor pinned by None": lambda t: t.tensor(2, pin_memory=None),
    "pin_memory": lambda t: t.ones(2).pin_memory(),
}


def answer(call, module):
    try:
        return call(module)
    except Exception as error:  # noqa: BLE001  # any class is compared
        return error


@pytest.mark.parametrize("name", CALLS)
def test_as_torch(name):
    expected, found = answer(CALLS[name], torch), answer(CALLS[name], torchlike)
    if not isinstance(expected, Exception):
        assert found == expected
        return
    kinds = {kind for kind in (TypeError, ValueError, NotImplementedError, RuntimeError) if isinstance(expected, kind)}
    assert any(isinstance(found, kind) for kind in kinds)
    first = str(expected).splitlines()[0]
    if isinstance(expected, RuntimeError) and not first.startswith(("Could not run", "Expected one of")):
        assert str(found).splitlines()[0] == first


def test_blocks_of_the_cpus_stream():
    for t in (torch, torchlike):
        stream = t.Stream("cpu")
        with stream as entered:
            assert entered is stream and t.ones(2).sum().item() == 2
        own, other = t.cpu.Stream(), t.cpu.current_stream()
        with t.cpu.stream(own), t.cpu.StreamContext(None):
            assert t.cpu.current_stream() is own
        assert t.cpu.current_stream() is other


def test_old_names_warn():
    for t in (torch, torchlike):
        with pytest.warns(FutureWarning, match="Use `current_device_index` instead"), pytest.raises(RuntimeError):
            t.accelerator.current_device_idx()


def test_the_accelerators_names():
    missing = set(torch.accelerator.__all__) - set(torchlike.accelerator.__all__)
    assert missing == {"Graph"}  # whose pools and modes are a driver's
    assert {"Event", "Stream", "StreamContext", "current_stream", "stream"} <= set(torchlike.cpu.__all__)
    assert isinstance(torchlike.Stream(), dc.Stream)
