"""The interface of a device that a program registers: its parts, and the streams and events that users get by it."""

import pytest

import dispatch_core as dc
from dispatch_core import runtime


class Log:
    """A device whose streams and events are names, and which writes down what is asked of it."""

    def __init__(self):
        self.lines = []
        self.index = 0
        self.chosen = {}
        self.made = 0

    def exchange_index(self, index):
        before, self.index = self.index, index
        return before

    def default(self, index):
        return f"default {index}"

    def create(self, index, priority=0):
        assert index == self.index
        self.made += 1
        return f"stream {self.made}"

    def current(self, index):
        return self.chosen.get(index, self.default(index))

    def exchange(self, index, stream):
        before = self.current(index)
        self.chosen[index] = stream
        return before

    def query(self, handle):
        self.lines.append(f"query {handle}")
        return False

    def synchronize(self, handle):
        self.lines.append(f"synchronize {handle}")


class Events:
    """Its events: marks with a time."""

    def __init__(self, log):
        self.log, self.made = log, 0

    def create(self, index):
        self.made += 1
        return f"event {self.made}"

    def record(self, event, stream):
        self.log.lines.append(f"record {event} in {stream}")

    def wait(self, event, stream):
        self.log.lines.append(f"{stream} waits for {event}")

    def query(self, event):
        return True

    def synchronize(self, event):
        self.log.lines.append(f"synchronize {event}")

    def elapsed_time(self, start, end):
        return 1.5


@pytest.fixture
def log():
    log = Log()
    events = Events(log)
    interface = dc.DeviceInterface(
        current=lambda: log.index,
        exchange=log.exchange_index,
        streams=log,
        events=events,
        timed_event=events.create,
    )
    with dc.register_backend(dc.BackendInfo("logged"), {}, device_interface=lambda: interface):
        yield log


def test_a_stream_is_current_within_its_block_and_the_former_one_after_an_error(log):
    stream = dc.Stream("logged:1")
    assert (log.index, stream.device, stream.native_handle) == (0, dc.Device("logged", 1), "stream 1")
    with pytest.raises(KeyError), stream:
        assert (log.index, log.current(1)) == (1, "stream 1")
        with stream:
            assert dc.Stream("logged") != stream
        raise KeyError
    assert (log.index, log.current(1)) == (0, "default 1")


def test_events_order_streams(log):
    first, second = dc.Stream("logged:0"), dc.Stream("logged:0")
    second.wait_stream(first)
    assert log.lines == ["record event 1 in stream 1", "stream 2 waits for event 1"]
    event = dc.Event("logged", enable_timing=True)
    assert event.query()
    event.wait()
    event.record()
    end = first.record_event(dc.Event("logged", enable_timing=True))
    assert log.lines[2:] == ["record event 2 in default 0", "record event 3 in stream 1"]
    assert event.elapsed_time(end) == 1.5


def test_what_events_refuse(log):
    plain = dc.Event("logged")
    with pytest.raises(ValueError, match="must be created with argument 'enable_timing=True'"):
        plain.elapsed_time(plain)
    timed = dc.Event("logged", enable_timing=True)
    with pytest.raises(ValueError, match="must be recorded before calculating"):
        timed.elapsed_time(timed)
    plain.record(dc.Stream("logged:0"))
    with pytest.raises(dc.BackendError, match="logged:0 does not match recording stream's device logged:1"):
        plain.record(dc.Stream("logged:1"))
    with pytest.raises(dc.ArgumentError, match="expected a Stream, not str"):
        plain.record("stream 1")


def test_parts_are_refused_by_name():
    with pytest.raises(dc.ArgumentError, match=r"DeviceInterface\(current=...\) takes a function, not 0"):
        dc.DeviceInterface(current=0)
    with pytest.raises(dc.ArgumentError, match=r"\(memory=...\) takes an object with the functions stats"):
        dc.DeviceInterface(memory=object())


def test_devices_are_told_to_be_deterministic_where_they_are_open_and_ask_where_they_are_opened_later():
    told = []

    def tell(mode):
        if len(told) == 2:
            raise OSError("the driver is gone")
        told.append(mode)

    interface = dc.DeviceInterface(deterministic=tell)
    asked = []
    hooks = {"open_device": lambda index: asked.append(dc.is_deterministic()), "device_interface": lambda: interface}
    with dc.register_backend(dc.BackendInfo("careful"), {}, **hooks):
        runtime.set_deterministic(True)
        runtime.open_device(dc.Device("careful"))
        assert (told, asked) == ([], [True])
        runtime.set_deterministic(False)
        runtime.set_deterministic(True)
        assert told == [False, True]
        with pytest.raises(OSError, match="driver") as raised:
            runtime.set_deterministic(False)
        assert raised.value.__notes__ == ["Raised by deterministic in the DeviceInterface of device 'careful'"]
        assert dc.is_deterministic()
    runtime.set_deterministic(False)
    assert not dc.is_deterministic()


def test_an_interface_of_another_type_is_the_backend_s_fault():
    with (
        dc.register_backend(dc.BackendInfo("odd"), {}, device_interface=lambda: "streams"),
        pytest.raises(dc.BackendError, match=r"dispatch_device_interface of .* returned 'streams'"),
    ):
        dc.Stream("odd")


def test_the_chosen_accelerator_is_one_that_the_program_registers(log, monkeypatch):
    monkeypatch.setenv("DISPATCH_ACCELERATOR", "logged")
    assert dc.current_accelerator() == dc.Device("logged")
    assert dc.Stream().device == dc.Device("logged", 0)
    monkeypatch.setenv("DISPATCH_ACCELERATOR", "lodged")
    with pytest.raises(dc.BackendError, match="DISPATCH_ACCELERATOR names 'lodged', which cannot be opened"):
        dc.Stream()
