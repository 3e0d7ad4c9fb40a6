"""An interrupt at any place of a program with streams leaves the caller's stream current, and later runs as ever."""

from __future__ import annotations

import gc
import linecache
import os
import sys
from pathlib import Path

import pytest
from racing_device import NAME, Racing, register

import dispatch_core as dc
import torchlike as t
from dispatch_core.keys import context
from dispatch_core.runtime import current_stream, default_stream

pytestmark = pytest.mark.no_pipeline(reason="the programs bring their own")

PIPELINES = Path(dc.__file__).parents[1] / "dispatch_pipelines"
OURS = (*[str(Path(module.__file__).parent) for module in (dc, t)], str(PIPELINES), "<dispatch replay")


class Interrupt(KeyboardInterrupt):
    """The interrupt that the tests raise."""


class Programs:
    """The programs, on two streams of the device."""

    def __init__(self):
        self.first, self.second = dc.Stream(NAME), dc.Stream(NAME)
        self.x = t.tensor([0.1, 0.2], device=NAME)
        self.leaf = t.tensor([0.1, 0.2], device=NAME, requires_grad=True)
        self.first.wait_stream(default_stream(NAME))
        self.captured_eager = t.capture(self.eager)

    def eager(self):
        with self.first:
            return self.x.exp()

    def inner(self):
        with self.first, self.second:
            self.second.wait_stream(self.first)
            return self.x.exp()

    def pipeline(self):
        with dc.pipeline():
            with self.first:
                y = self.x.exp()
                event = self.first.record_event()
            event.wait()
            return y + 1

    def replays(self):
        return self.captured_eager()

    def backward(self):
        with self.first:
            self.first.wait_stream(default_stream(NAME))
            y = self.leaf.exp().sum()
        default_stream(NAME).wait_stream(self.first)
        y.backward()


def interrupt(program, place):
    """Run a program with an interrupt before one of the library's lines; return their number.

    Where a block's end comes back to its ``with``, and at a ``try``, CPython looks for no signals.
    """
    seen, lines = 0, {}

    def trace(frame, event, _):
        nonlocal seen
        file, line = frame.f_code.co_filename, frame.f_lineno
        if event == "call":
            return trace if file.startswith(OURS) and frame.f_code.co_name != "__del__" else None
        last, lines[frame] = lines.get(frame, 0), line
        text = linecache.getline(file, line).strip()
        is_deaf = text == "try:" or (line < last and text.startswith("with "))
        if event == "line" and line != last and not is_deaf:
            seen += 1
            if seen == place:
                sys.settrace(before)
                raise Interrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        program()
    except Interrupt:
        pass
    finally:
        sys.settrace(before)
    return seen


@pytest.mark.parametrize("name", ["eager", "inner", "pipeline", "replays", "backward"])
def test_an_interrupt_leaves_the_caller_s_stream(name):
    plain = t.ones(2)
    with register():
        program = getattr(Programs(), name)
        for _ in range(4):
            program()
        gc.collect()
        gc.disable()
        try:
            lines = interrupt(program, 0)
            assert lines
            for place in range(1, lines + 1, max(1, lines // int(os.environ.get("DISPATCH_TEST_PLACES", "100")))):
                interrupt(program, place)
                assert (plain + 1).tolist() == [2, 2]  # an abandoned pipeline ends here
                assert current_stream(NAME) == default_stream(NAME), place
                assert (context.current(), dc.current_pipeline(), Racing.index) == (None, None, 0), place
                program()
        finally:
            gc.enable()
