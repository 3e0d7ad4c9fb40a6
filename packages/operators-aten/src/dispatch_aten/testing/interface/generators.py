"""Engines of random numbers: states, seeds, and draws of two devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

import dispatch_core as dc
from dispatch_core import ops

from ...dtypes import BY_NAME
from ...generator import make_generator
from ..agreement import TestedDevice
from ..comparing import DisagreementError
from ..drawing import Array
from ..placing import get
from .absence import require


def check_generators(device: TestedDevice, interface: dc.DeviceInterface) -> int:
    """Seed engines, keep their state and restore it: the same numbers come, and of two indices with one seed, too."""
    [make] = require(interface, "generator")
    engine = make(0)
    engine.seed(7)
    state = engine.get_state()
    if not isinstance(state, bytes | bytearray | memoryview):
        raise DisagreementError(f"get_state() returns a {type(state).__name__}, not bytes")
    engine.seed(7)
    if bytes(engine.get_state()) != bytes(state):
        raise DisagreementError("two seeds with one number lead to different states")
    engine.seed(8)
    other = bytes(engine.get_state())
    if other == bytes(state):
        raise DisagreementError("seeds with different numbers lead to the same state")
    engine.set_state(bytes(state))
    if bytes(engine.get_state()) != bytes(state):
        raise DisagreementError("set_state(get_state()) leads to another state")
    count = 4 + _check_second_engine(device, make, state)
    place = dc.Device(device.name, 0)
    for name in ("rand", "randn"):
        try:
            count += _check_draws(device, place, name)
        except dc.NoKernelError:
            continue
    return count


def _check_second_engine(device: TestedDevice, make: Callable[[int], Any], state: Any) -> int:
    """Seed the engine of the second device: that of the first stays."""
    if device.count < 2:
        return 0
    first, second = make(0), make(1)
    first.seed(7)
    second.seed(8)
    if bytes(first.get_state()) != bytes(state):
        raise DisagreementError("generator(1).seed(8) changes the state of generator(0): both have one engine")
    second.seed(7)
    if bytes(second.get_state()) != bytes(state):
        raise DisagreementError("generator(0) and generator(1) have different states after seeds with one number")
    return 2


def _check_draws(device: TestedDevice, place: dc.Device, name: str) -> int:
    """Draw an odd number of numbers, keep the state and restore it, also elsewhere: the same numbers come."""
    one = make_generator(place, 7)
    _draw(name, one, place, 3)
    state = one.get_state()
    expected = [_draw(name, one, place, count) for count in _COUNTS]
    _draw(name, one, place, 1)
    one.set_state(state)
    _compare(name, "the same generator", [_draw(name, one, place, count) for count in _COUNTS], expected)
    other = make_generator(place, 8)
    _draw(name, other, place, 1)
    other.set_state(state)
    _compare(name, "another generator", [_draw(name, other, place, count) for count in _COUNTS], expected)
    if np.array_equal(expected[0], expected[2]):
        raise DisagreementError(f"{name} draws the same numbers twice")
    if device.count < 2:
        return 3
    first, second = (make_generator(dc.Device(device.name, index), 7) for index in (0, 1))
    for number in range(2):
        found = [_draw(name, each, each.device, 3) for each in (first, second)]
        if not np.array_equal(found[0], found[1]):
            raise DisagreementError(
                f"{name} draws {found[1].tolist()} on {second.device}, and {found[0].tolist()} on {first.device}, as draw"
                f" {number + 1} of two generators with one seed: they have to be apart, and alike"
            )
    return 5


#: How many numbers are drawn one after another: an odd count, some, and the first count again.
_COUNTS: Final = (3, 4, 3)


def _draw(name: str, generator: Any, place: dc.Device, count: int) -> Array:
    kind = BY_NAME["float32"]
    return get(getattr(ops.aten, name).generator([count], generator=generator, dtype=kind, device=place))


def _compare(name: str, where: str, found: list[Array], expected: list[Array]) -> None:
    for one, two in zip(found, expected, strict=True):
        if not np.array_equal(one, two):
            raise DisagreementError(
                f"{name} draws {one.tolist()} after set_state() of {where}, and drew {two.tolist()} after get_state():"
                " the state has to hold all that draws depend on"
            )
