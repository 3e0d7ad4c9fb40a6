"""The Autograd key of each device, or layout with one of its own, whose kernels come when a tensor first needs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from dispatch_core.frontends import run_outside
from dispatch_core.keys import ARRAYS, DispatchKey, keys_of


class _AutogradBits(dict[int, int]):
    """A tensor's mask → the Autograd key of its device or layout, as a mask; computed at the first look-up."""

    #: Registers the kernels under an Autograd key; set by `methods`, because the kernels need tensors.
    register: Callable[[DispatchKey], None]

    def __missing__(self, mask: int) -> int:
        bit = 0
        for key in keys_of(mask & ARRAYS):
            own = f"Autograd{key.layout}" if key.layout and key.layout != "NestedTensor" else ""
            usual = f"Autograd{key.backend}" if key.backend else "AutogradOther"
            autograd = DispatchKey(own if own in DispatchKey else usual)
            prepare(autograd)
            bit |= autograd
        self[mask] = bit
        return bit


def prepare(key: DispatchKey) -> None:
    """Register the kernels under an Autograd key, once, and outside the transaction of a plugin that is loading."""
    if key not in _prepared:
        run_outside(lambda: AUTOGRAD_BITS.register(key))
        _prepared.add(key)


_prepared: Final[set[DispatchKey]] = set()
AUTOGRAD_BITS: Final = _AutogradBits()
autograd_bit: Final = AUTOGRAD_BITS.__getitem__
