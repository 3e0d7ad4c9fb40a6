"""Every part of a device's interface that raises is named in the error's notes, with the device."""

import numpy as np
import pytest
from paired_devices import current, exchange, register

import dispatch_core as dc
import torchlike as t
from dispatch_core import runtime

pytestmark = pytest.mark.no_pipeline(reason="recorded calls ask the device for its streams at the end")


class Parts:
    """All parts, of which one raises."""

    def __init__(self):
        self.failing = ""

    def make(self, part, answer=None):
        def function(*args, **kwargs):
            if part == self.failing:
                raise OSError("the driver is gone")
            return answer

        return function

    def group(self, part, names):
        return type("Group", (), {name: staticmethod(self.make(f"{part}.{name}", 7)) for name in names.split()})

    def interface(self):
        events = self.group("events", "create query record synchronize wait elapsed_time")
        return dc.DeviceInterface(
            current=current,
            exchange=exchange,
            properties=self.make("properties", {"name": "twin"}),
            synchronize=self.make("synchronize"),
            streams=self.group("streams", "create current default exchange query synchronize record"),
            events=events,
            timed_event=self.make("timed_event", 7),
            memory=self.group("memory", "stats info reset_peaks reset_accumulated"),
            empty_cache=self.make("empty_cache"),
            host_allocator=self.make("host_allocator"),
            generator=self.make("generator"),
            functions={"plain": print},
            queue=self.make("queue"),
        )


@pytest.fixture
def parts():
    found = Parts()
    interface = found.interface()
    with register(device_interface=lambda: interface):
        t.ones(2, device="twin")
        yield found


def mark():
    event = dc.Event("twin")
    event.record(runtime.default_stream("twin"))
    return event


ASKED = {
    "properties": (lambda: t.twin.get_device_properties(1), "twin:1"),
    "synchronize": (lambda: dc.synchronize("twin:1"), "twin:1"),
    "streams.create": (lambda: dc.Stream("twin:1"), "twin:1"),
    "streams.current": (lambda: runtime.current_stream("twin:1"), "twin:1"),
    "streams.default": (lambda: runtime.default_stream("twin:1"), "twin:1"),
    "streams.query": (lambda: dc.Stream("twin").query(), "twin"),
    "streams.synchronize": (lambda: dc.Stream("twin").synchronize(), "twin"),
    "streams.exchange": (lambda: runtime.set_stream(dc.Stream("twin:1")), "twin:1"),
    "events.create": (mark, "twin:0"),
    "events.record": (mark, "twin"),
    "events.wait": (lambda: mark().wait(), "twin"),
    "events.query": (lambda: mark().query(), "twin"),
    "events.synchronize": (lambda: mark().synchronize(), "twin"),
    "timed_event": (lambda: dc.Event("twin", enable_timing=True).record(), "twin:0"),
    "memory.stats": (lambda: t.twin.memory_stats(1), "twin:1"),
    "memory.info": (lambda: t.twin.mem_get_info(1), "twin:1"),
    "memory.reset_peaks": (lambda: t.twin.reset_peak_memory_stats(1), "twin:1"),
    "memory.reset_accumulated": (lambda: t.twin.reset_accumulated_memory_stats(1), "twin:1"),
    "empty_cache": (lambda: t.twin.empty_cache(), "twin"),  # noqa: PLW0108  # the module is there with the device
    "generator": (lambda: t.Generator("twin:1").get_state(), "twin:1"),
}


@pytest.mark.parametrize("part", ASKED)
def test_an_error_names_the_part_and_the_device(part, parts):
    ask, device = ASKED[part]
    parts.failing = part
    with pytest.raises(OSError, match="the driver is gone") as caught:
        ask()
    assert [note for note in caught.value.__notes__ if note.startswith("Raised")] == [
        f"Raised by {part} in the DeviceInterface of device {device!r}"
    ]


def test_an_exchange_of_the_device_is_named():
    def fail(index):
        if index == 1:
            raise OSError("the driver is gone")
        return exchange(index)

    interface = dc.DeviceInterface(current=current, exchange=fail)
    with register(device_interface=lambda: interface):
        with (
            pytest.raises(OSError, match="the driver is gone") as caught,
            runtime.OnDevice(runtime.find_interface("twin"), 1),
        ):
            pass
        assert "Raised by exchange in the DeviceInterface of device 'twin:1'" in caught.value.__notes__


def test_an_interface_that_is_registered_again_names_its_parts_once():
    parts = Parts()
    interface = parts.interface()
    for _ in range(2):
        with register(device_interface=lambda: interface):
            parts.failing = "streams.default"
            with pytest.raises(OSError, match="gone") as caught:
                runtime.default_stream("twin")
            assert sum(note.startswith("Raised") for note in caught.value.__notes__) == 1
            parts.failing = ""


def test_other_functions_of_a_part_and_the_queue_are_the_backend_s(parts):
    found = runtime.find_interface("twin")
    assert found.queue.__name__ == "function"
    found.streams.priority_range = (0, 1)
    assert found.streams.priority_range == (0, 1)
    assert not hasattr(found.events, "nothing")
    assert np.asarray(t.ones(2, device="twin").cpu()).tolist() == [1, 1]
