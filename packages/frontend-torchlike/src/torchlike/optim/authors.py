"""The functions by which libraries' optimizers are written (source: ``torch.optim.optimizer``)."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

from dispatch_aten.dtypes import ScalarType, get_default_dtype

from ..functions.operator_functions import FUNCTIONS
from ..history.grad_mode import set_grad_enabled
from ..tensors.tensor import Tensor
from ..utils._foreach_utils import (
    _foreach_supported_types,
    _get_foreach_kernels_supported_devices,
    _get_fused_kernels_supported_devices,
)

_P = ParamSpec("_P")
_R = TypeVar("_R")

#: Sentences about settings that optimizers share, for their docstrings.
_params_doc: Final = "params (iterable): tensors, pairs of a name and a tensor, or dicts of settings with ``params``"
_foreach_doc: Final = "foreach (bool, optional): whether a step treats all tensors of a device and dtype by one call"
_fused_doc: Final = "fused (bool, optional): whether a step is one kernel, for tensors of floats"
_capturable_doc: Final = "capturable (bool, optional): whether a step can be captured (default: False)"
_differentiable_doc: Final = "differentiable (bool, optional): whether autograd records a step (default: False)"
_maximize_doc: Final = "maximize (bool, optional): whether a step makes the loss larger (default: False)"


def _use_grad_for_differentiable(func: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return a ``step`` that autograd records where the optimizer's default ``differentiable`` says so, and else not."""

    @wraps(func)
    def step(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        optimizer: Any = args[0]
        with set_grad_enabled(bool(optimizer.defaults["differentiable"])):
            return func(*args, **kwargs)

    return step


def _get_value(x: Any) -> Any:
    """Return a tensor of one element as a number, anything else as it is."""
    return x.item() if isinstance(x, Tensor) else x


def _stack_if_compiling(x: Any) -> Any:
    """Return a list of numbers as it is: no step is compiled here."""
    return x


def _disable_dynamo_if_unsupported(
    single_tensor_fn: Callable[..., Any] | None = None,
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Return a decorator that changes nothing: no step is compiled here."""
    return lambda func: func


def _default_to_fused_or_foreach(params: list[Any], differentiable: bool, use_fused: bool = False) -> tuple[bool, bool]:
    """Return whether a step is fused, and whether it treats lists, where its settings do not say so.

    >>> import torchlike
    >>> _default_to_fused_or_foreach([torchlike.ones(1)], differentiable=False, use_fused=True)
    (True, False)
    """
    if differentiable:
        return False, False

    def fits(devices: list[str], only_floats: bool) -> bool:
        return all(
            each is None
            or (
                type(each) in _foreach_supported_types
                and each.device.type in devices
                and (not only_floats or each.is_floating_point())
            )
            for each in params
        )

    fused = use_fused and fits(_get_fused_kernels_supported_devices(), True)
    return fused, not fused and fits(_get_foreach_kernels_supported_devices(), False)


def _device_dtype_check_for_fused(p: Tensor, cuda_unsupported: bool = False) -> None:
    """Raise ``RuntimeError`` for a parameter that no fused step serves."""
    devices = [each for each in _get_fused_kernels_supported_devices() if not (cuda_unsupported and each == "cuda")]
    if p.device.type not in devices or not p.is_floating_point():
        raise RuntimeError(
            f"`fused=True` requires all the params to be floating point Tensors of supported devices: {devices} but "
            f"{p.dtype} and {p.device.type}"
        )


def _view_as_real(params: list[Any], *state_and_grads: list[Any]) -> None:
    """Replace complex parameters in a list, and what belongs to them in the others, by their real views."""
    for place, param in enumerate(params):
        if param.is_complex():
            for each in (params, *state_and_grads):
                each[place] = FUNCTIONS["view_as_real"](each[place])


def _get_scalar_dtype(is_fused: bool | None = None) -> ScalarType:
    """Return the dtype of counts of steps."""
    is_double = not is_fused and get_default_dtype() is ScalarType.Double
    return ScalarType.Double if is_double else ScalarType.Float


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """Return the device types on which torch's steps can be captured in a graph."""
    return ["cuda", "xpu", "hpu", *(["xla"] if supports_xla else [])]


def _to_scalar(x: Any) -> Any:
    """Return a tensor of one element without dimensions, a number as it is."""
    return x.squeeze() if isinstance(x, Tensor) and x.dim() else x
