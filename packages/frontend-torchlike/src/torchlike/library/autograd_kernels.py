"""Programs' kernels under Autograd, which torch runs for every tensor.

Note [Autograd of plain tensors]
    A tensor has an Autograd key here once it requires grad, so that calls on other tensors cost nothing more. A program's
    kernel under Autograd is run for all, as in torch, by a second kernel under BackendSelect, which is in every call's keys:
    it goes on at the Autograd key of the device, unless autograd stands above the call, as one of its tensors has the key or
    the context leaves it out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dispatch_core as dc
from dispatch_core.frontends import AUTOGRAD, current_masks

from .kernels import make_wrapped_kernel
from .operator_kernels import iterate_tensors

__all__ = ["is_autograd_key", "make_plain_kernel"]


def is_autograd_key(name: str) -> bool:
    """Return whether a key is Autograd or that of a device.

    >>> is_autograd_key("AutogradCPU"), is_autograd_key("CPU")
    (True, False)
    """
    return dc.DispatchKey[name].name.startswith("Autograd")


def make_plain_kernel(fn: Callable[..., Any]) -> dc.KernelFactory:
    """Return the kernel under BackendSelect by which ``fn`` serves tensors that require no grad.

    See Note [Autograd of plain tensors].
    """

    def make(op: Any, keyset: Any) -> Callable[..., Any]:
        below = (keyset.mask | keyset.marker) & ~dc.DispatchKey.BackendSelect.value
        names = [f"Autograd{key.backend}" for key in keyset.iter_keys() if key.kind == "device"]
        keys = [dc.DispatchKey[name] for name in names if name in dc.DispatchKey]
        above = sum(key.value for key in keys)
        # Keys that calls have passed over: the kernel below is differentiated by its parts.
        passed = sum(key.value for key in keys if _is_passed(op, key))

        def kernel(*args: Any, **kwargs: Any) -> Any:
            values = (*args, *kwargs.values())
            further = passed if any(each._dispatch_mask & AUTOGRAD for each in iterate_tensors(values)) else above
            masks = current_masks()
            if masks is not None:
                further &= ~masks[1]
            return op.redispatch(below | further, *args, **kwargs)

        return kernel

    return make_wrapped_kernel(fn, make)


def _is_passed(op: Any, key: dc.DispatchKey) -> bool:
    """Return whether an operator's calls pass an Autograd key over."""
    held = op.registrations(key) or op.registrations(dc.DispatchKey.Autograd)
    return bool(held) and held[0].is_fallthrough
