"""Recording on several devices of one type: each call by a recorder of the device that its arrays lie on.

See Note [Several indices] in `dispatch_core.arrays.indices`. A recorded call keeps the index in the class of its step, and
pending values have it in theirs, so that the block records what it would record on one device, for each of them. A copy from
one device to another is two calls: the source comes to the device of the target, and is copied there. Outside of captured
functions a kernel with the trait ``crosses_devices``, and one of a device whose arrays may lie on several, copies at once
instead; the devices are not waited for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatch_core.arrays import owners
from dispatch_core.arrays.access import device
from dispatch_core.arrays.indices import PLACING, SEVERAL, find_named_index
from dispatch_core.arrays.protocols import refuse_mixed
from dispatch_core.arrays.thread_device import find_current
from dispatch_core.calls.placed_calls import COPIES, MIXED, MOVE, make_index_finder
from dispatch_core.calls.signature import CallSignature
from dispatch_core.calls.traits import Runner
from dispatch_core.devices import Device
from dispatch_core.keys.table import DispatchKey, keys_of
from dispatch_core.operators.resolution import Resolution, resolve

from .blocks import finish
from .materialization import materialize
from .pending import Pending


def make_indexed_recorder(op: Any, keyset: Any, make: Callable[..., Runner]) -> Runner:
    """Return a recorder of calls on several devices; ``make`` makes that of one device, given its index."""
    entry, signature, mask = op._entry, op._entry.signature, keyset.mask & SEVERAL[0]
    name = owners.KEY_DEVICES[keys_of(mask)[0].backend]
    find, look = make_index_finder(signature, mask), make_index_finder(signature, mask, is_call=True)
    find_first = make_index_finder(signature, mask, limit=1)
    current, place = find_current(name), signature.device_index
    made: dict[int | None, Runner] = {}
    winner = resolve(entry, (keyset.mask | keyset.marker) & ~DispatchKey.Pipeline.value, 0)
    found = winner.slot.registration if isinstance(winner, Resolution) else None
    crosses = bool(mask & PLACING[0]) or (found is not None and found.traits.crosses_devices)

    def run(*values: Any) -> Any:
        index = find(values)
        if index == MIXED or (index and look(_compute_unknown(signature, values)) == MIXED):
            if entry.name not in COPIES and entry.name != MOVE:
                positional, named = signature.split(values)
                refuse_mixed(op, tuple(positional), named)
            index = find_first(values)
            session = finish()
            if crosses and session is not None and session.recording is None:
                return make(op, keyset, index, "it copies between devices")(*values)
            values = (values[0], _move(values[1], Device(name, index)), *values[2:])
        elif index is None:
            device = None if place is None else values[place]
            if isinstance(device, Device) and device.type == name:
                index = device.index
            if index is None:
                index = find_named_index(name, current)
        runner = made.get(index)
        if runner is None:
            runner = made.setdefault(index, make(op, keyset, index))
        return runner(*values)

    def _move(source: Any, target: Device) -> Any:
        """Return a copy of a tensor or an array on another device, recorded below Autograd where that is possible."""
        copy = entry.registry.find_entry("aten::_to_copy")
        assert copy is not None  # the library that defines copies defines it too
        return copy.op.redispatch(keyset, source, device=target)

    return run


def _compute_unknown(signature: CallSignature, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Compute the arguments beside one on a device with a number of which it is not known where they will lie."""
    for _, tensor in signature.tensors(values):
        data = getattr(tensor, "_dispatch_data", tensor)
        if isinstance(data, Pending) and data.value is None and device(data).index is None:
            materialize(tensor)
    return values
