"""``autocast``: blocks in which each operator computes in the precision that suits it."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Any, Final, Self

import numpy as np

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType, bfloat16, float16, float64
from dispatch_core.devices import read_alias
from dispatch_core.frontends import is_loaded, reset_masks, set_masks
from dispatch_core.interrupts import Guard, by_subscript, whole
from dispatch_core.lazy_text import repr_by_attributes

from ..history.grad_mode import decorate
from ..history.graph_settings import autocast_choices, autocast_nesting
from ..tensors.tensor import Tensor
from .cast_cache import CastCache, Nesting
from .settings import (
    Choices,
    choose,
    current_choices,
    deeper,
    default_dtype,
    find_key,
    get_autocast_dtype,
    is_autocast_available,
    is_autocast_enabled,
    is_present,
    masks_with,
)

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]

_SUPPORTED: Final = (bfloat16, float16)
_PLAIN: Final = ("cpu", "meta")
_set_choices, _set_nesting = by_subscript(autocast_choices.set), by_subscript(autocast_nesting.set)
_reset_choices, _reset_nesting = autocast_choices.reset, autocast_nesting.reset


def _find_supported(device: str) -> tuple[ScalarType, ...]:
    """Return the dtypes that autocast may choose on a device: those with which it computes, where its interface says so."""
    if device in _PLAIN or not is_loaded(device):
        return _SUPPORTED
    from dispatch_core.runtime import find_interface  # as most programs use the cpu

    dtypes = find_interface(device).dtypes
    return _SUPPORTED if dtypes is None else tuple(each for each in _SUPPORTED if each in dtypes)


class autocast(Guard):  # noqa: N801  # torch's name
    """Compute each operator in the precision that suits it, in a block or in a function (source: ``torch.autocast``).

    Products of matrices and convolutions run in ``dtype``, bfloat16 on the cpu and float16 elsewhere unless another is
    chosen; losses and decompositions in float32; all others in the precision of their tensors. The lists are torch's: those
    of its cpu for cpu, those of CUDA for every other device. Tensors of other devices, of other dtypes than float16,
    bfloat16 and float32, and arguments that are written to are not cast. ``enabled=False`` turns it off within a block.

    Casts of weights are kept until the outermost block ends, unless ``cache_enabled`` is False. Threads start without
    autocast. Raises ``ValueError`` for a device that is not a string, ``RuntimeError`` for one that is not there,
    ``TypeError`` for a dtype or ``enabled`` of another type; for a dtype that is neither bfloat16 nor float16 it warns and
    is disabled.

    >>> import torchlike
    >>> x = torchlike.ones(2, 2)
    >>> with autocast("cpu", dtype=torchlike.bfloat16):
    ...     product = x @ x
    ...     product.dtype, torchlike.nn.functional.mse_loss(product, x).dtype
    (torchlike.bfloat16, torchlike.float32)
    """

    __repr__ = repr_by_attributes("device", "fast_dtype", "_enabled")

    def __init__(
        self,
        device_type: str,
        dtype: ScalarType | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = device = read_alias(device_type.partition(":")[0])
        if not is_autocast_available(device):
            raise RuntimeError(
                f"User specified an unsupported autocast device_type '{device_type}'\n"
                f"Hint: the devices here are {', '.join(sorted(dc.backends()))}"
            )
        if not (dtype is None or isinstance(dtype, ScalarType)):
            raise TypeError(f"autocast(): argument 'dtype' must be a dtype, not {type(dtype).__name__}")
        if not isinstance(enabled, bool):
            raise TypeError(f"autocast(): argument 'enabled' must be a bool, not {type(enabled).__name__}")
        self._tokens = None
        choices = current_choices()
        self.fast_dtype = dtype or choices.dtypes.get(device) or default_dtype(device)
        self._cache_enabled = choices.cache_enabled if cache_enabled is None else cache_enabled
        self._enabled = enabled and self._can_be_enabled()

    def _can_be_enabled(self) -> bool:
        """Return whether the device and the dtype allow it; warn where they do not."""
        if self.device == "cuda" and not is_present("cuda"):
            warnings.warn("CUDA is not available or torch_xla is imported. Disabling autocast.", stacklevel=3)
            return False
        supported = _find_supported(self.device)
        if self.fast_dtype in supported:
            return True
        name = self.device.upper()
        warnings.warn(
            f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
            f"{name} Autocast only supports dtypes of {', '.join(map(str, supported))} currently.",
            stacklevel=3,
        )
        return False

    def __enter__(self) -> Self:
        outer = self._tokens
        choices = choose(self.device, enabled=self._enabled, dtype=self.fast_dtype, cache_enabled=self._cache_enabled)
        nesting, masks = deeper(), masks_with(self.device, enabled=self._enabled)
        try:
            # See Note [Where an interrupt falls] in `dispatch_core.interrupts`.
            self._tokens = (_set_choices[choices], _set_nesting[nesting], set_masks[masks], outer)
            return self
        except BaseException:
            self._leave(outer)
            raise

    @whole
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            choices, nesting, masks, outer = self._tokens  # type: ignore[misc]  # a block that is left was entered
            reset_masks(masks)
            _reset_nesting(nesting)
            _reset_choices(choices)
            self._tokens = outer
        except BaseException:
            # The interrupt may have come first.
            self._finish()
            raise

    def _again(self) -> autocast:
        """Return a block for one call of a decorated function, which other threads may call, too."""
        made = object.__new__(type(self))
        vars(made).update(vars(self))
        made._tokens = None
        return made

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate a function: each call of it, and each step of a generator, runs in the block."""
        if not callable(func):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(func).__name__}. Did you mean to use autocast as a "
                "context manager? For example:\n    with torch.autocast(device_type=...):\n        output = model(input)"
            )
        return decorate(self._again, func)


def autocast_decorator(autocast_instance: autocast, func: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``func`` with each call of it in a block (source: torch's function of the name)."""
    return autocast_instance(func)


@contextmanager
def choose_again(choices: Choices | None) -> Iterator[None]:
    """Compute a block with the choices that held elsewhere, and with a cache of its own."""
    with ExitStack() as stack:
        for device in () if choices is None else choices.active:
            if (key := find_key(device)) is not None:
                stack.enter_context(dc.include_keys(key))
        stack.callback(autocast_choices.reset, autocast_choices.set(choices))
        stack.callback(autocast_nesting.reset, autocast_nesting.set(Nesting(1, CastCache())))
        yield


def _cast(value: Any, device_type: str, dtype: ScalarType) -> Any:
    """Cast the floating-point tensors of a device in containers; float64 stays."""
    if isinstance(value, Tensor):
        is_eligible = value.is_floating_point() and value.device.type == device_type and value.dtype is not float64
        return value.to(dtype) if is_eligible else value
    if isinstance(value, (str, bytes, np.ndarray)):
        return value
    if isinstance(value, Mapping):
        return {_cast(key, device_type, dtype): _cast(each, device_type, dtype) for key, each in value.items()}
    if isinstance(value, Iterable):
        made = (_cast(each, device_type, dtype) for each in value)
        return type(value)(made) if isinstance(value, (list, tuple)) else made
    return value


def _check_device_type(device_type: Any) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: ScalarType | None = None) -> Any:
    """Decorate the ``forward`` of a custom function for use under autocast (source: ``torch.amp.custom_fwd``).

    With ``cast_inputs`` the floating-point tensors of the device are cast to it where autocast is on, and ``forward`` runs
    with autocast off; without, it runs with the state that it finds. Raises ``ValueError`` where the device is not a string.
    """
    _check_device_type(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def run(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        ctx._dtype = get_autocast_dtype(device_type)
        is_on = is_autocast_enabled(device_type)
        if cast_inputs is None:
            ctx._fwd_used_autocast = is_on
            return fwd(ctx, *args, **kwargs)
        ctx._fwd_used_autocast = False
        if not is_on:
            return fwd(ctx, *args, **kwargs)
        device = read_alias(device_type)
        with autocast(device, enabled=False):
            return fwd(ctx, *_cast(args, device, cast_inputs), **_cast(kwargs, device, cast_inputs))

    return run


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """Decorate the ``backward`` of a custom function: it runs with the autocast state of its ``forward``.

    Source: ``torch.amp.custom_bwd``. Raises ``ValueError`` for a device that is not a string.
    """
    _check_device_type(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def run(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(ctx, *args, **kwargs)

    return run
