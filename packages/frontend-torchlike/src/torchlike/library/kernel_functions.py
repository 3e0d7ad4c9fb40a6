"""Kernels by operator and key, for those that go on to them (source: ``torch.library.get_kernel``)."""

from __future__ import annotations

from typing import Any

import dispatch_core as dc

from .torch_errors import LibraryError

__all__ = ["get_kernel"]


class KernelFunction:
    """One kernel of one operator, which stays the same whatever is registered after it. Made by `get_kernel`."""

    def __init__(self, handle: dc.KernelHandle) -> None:
        self._handle = handle

    def call_boxed(self, keyset: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Run the kernel for a keyset.

        Raises ``RuntimeError`` once the kernel was taken back.
        """
        try:
            return self._handle.call_boxed(keyset, *args, **kwargs)
        except dc.ClosedOperatorError as error:
            fault = RuntimeError(f"This SafeKernelFunction has been invalidated: {error}")
        raise fault

    def __repr__(self) -> str:
        return repr(self._handle)


def get_kernel(op: Any, dispatch_key: Any) -> KernelFunction:
    """Return the kernel that an operator runs under a dispatch key now, by whatever rule.

    A kernel that is registered for the key afterwards goes on to it by ``call_boxed(keyset, *args)``. Raises ``ValueError``
    for an unknown key or something that is not an operator, ``RuntimeError`` where there is no kernel (source:
    ``torch.library.get_kernel``).

    >>> import torchlike
    >>> neg = get_kernel("aten::neg", "CPU")
    >>> neg.call_boxed("CPU", torchlike.ones(1))
    tensor([-1.])
    """
    is_overload = isinstance(getattr(op, "overload_name", None), str)
    if not isinstance(op, str) and not is_overload:
        raise ValueError(f"get_kernel({op}): got unexpected type for op: {type(op)}")
    if isinstance(dispatch_key, str) and dispatch_key not in dc.DispatchKey:
        raise ValueError(f"Invalid dispatch key: {dispatch_key}")
    name = op if isinstance(op, str) else op.name
    try:
        return KernelFunction(dc.get_kernel(dc.registry.get(name).op, dispatch_key))
    except dc.NoKernelError:
        key = getattr(dispatch_key, "name", dispatch_key)
        fault = LibraryError(f"no kernel for {key} for {name}")
    except dc.OperatorNotFoundError as error:
        fault = LibraryError(f"operator {name} does not exist: {error}")
    raise fault
