"""``autocast``: a context that is disabled on every device here, and says where that would change a program's meaning."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, Self

from dispatch_aten.dtypes import ScalarType, bfloat16, float16

__all__ = [
    "autocast",
    "clear_autocast_cache",
    "custom_bwd",
    "custom_fwd",
    "get_autocast_dtype",
    "is_autocast_available",
    "is_autocast_cache_enabled",
    "is_autocast_cpu_enabled",
    "is_autocast_enabled",
]


def is_autocast_available(device_type: str) -> bool:
    """Return whether a device computes in mixed precision: none does here."""
    return False


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Return False: operators keep the precision of their tensors."""
    return False


def is_autocast_cpu_enabled() -> bool:
    """Return False, as above."""
    return False


def get_autocast_dtype(device_type: str) -> ScalarType:
    """Return the dtype that a block on a device would choose."""
    return float16 if device_type == "cuda" else bfloat16


def is_autocast_cache_enabled() -> bool:
    """Return True, as torch does where nothing was chosen."""
    return True


def clear_autocast_cache() -> None:
    """Do nothing: nothing is cached."""


class autocast:  # noqa: N801  # torch's name
    """A block whose operators choose their precision (source: ``torch.autocast``): here it is always disabled.

    For a device that is not there it warns, as torch does. On the cpu it warns that results keep their own precision, which
    is higher than the one that was asked for.
    """

    def __init__(
        self,
        device_type: str,
        dtype: ScalarType | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            raise TypeError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device, self.fast_dtype = device_type, dtype or get_autocast_dtype(device_type)
        self._enabled = False
        if not enabled:
            return
        if device_type == "cpu":
            warnings.warn(
                "autocast on the cpu is not implemented: operators keep the precision of their tensors",
                UserWarning,
                stacklevel=2,
            )
        else:
            warnings.warn(
                f"User provided device_type of '{device_type}', but {device_type.upper()} is not available. Disabling",
                UserWarning,
                stacklevel=2,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate a function: each call of it runs in the block."""

        @functools.wraps(func)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return call


def custom_fwd(fwd: Any = None, *, device_type: str = "cuda", cast_inputs: Any = None) -> Any:
    """Return the ``forward`` of a custom function unchanged: nothing is cast here."""
    return fwd if fwd is not None else functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)


def custom_bwd(bwd: Any = None, *, device_type: str = "cuda") -> Any:
    """Return the ``backward`` of a custom function unchanged: nothing is cast here."""
    return bwd if bwd is not None else functools.partial(custom_bwd, device_type=device_type)
