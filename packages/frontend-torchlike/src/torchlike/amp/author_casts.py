"""The kernels under the Autocast keys of operators whose author gives their dtypes: ``register_autocast``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatch_aten.dtypes import ScalarType, float64
from dispatch_core.frontends import AutocastInputs, call_signature
from dispatch_core.keys import ARRAYS, DispatchKey, backend_arrays

from .autocasting import autocast
from .kernels import OperatorCasts
from .settings import current_choices


class _AuthorCasts(OperatorCasts):
    """The casts that an author asks for: of all tensors of the device with a floating-point dtype but float64."""

    castable = frozenset(dtype for dtype in ScalarType if dtype.is_floating_point and dtype is not float64)

    def __init__(self, op: Any, keyset: Any, key: DispatchKey) -> None:
        super().__init__(op, keyset, key)
        # Casts of written arguments would take the writes.
        read = [(index, each.tensors) for index, each in enumerate(call_signature(op).parameters) if not each.writes]
        self.tensors = tuple(index for index, kind in read if kind and "list" not in kind)
        self.lists = tuple(index for index, kind in read if kind and "list" in kind)

    def _cast(self, value: Any, own: ScalarType, dtype: ScalarType) -> Any:
        # No cast is kept: the author may choose any dtype.
        return self._convert(value, dtype) if self.is_eligible(value) else value


def make_kernel(op: Any, keyset: Any, casts: AutocastInputs) -> Callable[..., Any]:
    """Return the kernel that casts an operator's tensors and runs it with autocast off for the device.

    Calls with tensors of other devices alone go on below the key.
    """
    call = _AuthorCasts(op, keyset, casts.key)
    run, device, dtype = call.run, casts.device_type, casts.dtype
    arrays = keyset.mask & ARRAYS
    is_other = bool(arrays) and not arrays & backend_arrays(casts.key.backend)

    def kernel(*args: Any, **kwargs: Any) -> Any:
        values = (*args, *kwargs.values())
        if is_other or device not in current_choices().active:
            return run(*values)
        with autocast(device, enabled=False):
            return run(*call.cast_all(values, dtype))

    return kernel
