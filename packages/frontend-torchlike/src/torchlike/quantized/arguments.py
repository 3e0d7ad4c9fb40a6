"""The arguments of functions that are no operators, held against torch's declarations of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn, TypeVar

from dispatch_core.frontends import find_layout
from dispatch_core.schema import FunctionSchema, bind, invalid_combination, matches
from dispatch_core.tracebacks import api_boundary

from ..tensors.tensor import Tensor

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _is_tensor(value: object) -> bool:
    return isinstance(value, Tensor)


def takes(*declarations: str) -> Callable[[_Function], _Function]:
    """Hold the arguments of a function against torch's declarations, and give it them in their order.

    Raises ``TypeError``, in torch's words, for a call that fits none of them.

    >>> @takes("double(Tensor input, int times) -> Tensor")
    ... def double(input, times):
    ...     return input * times
    >>> import torchlike
    >>> double(torchlike.ones(1), 2.0)
    Traceback (most recent call last):
        ...
    dispatch_core.errors.ArgumentError: double(): argument 'times' (position 2) must be int, not float
    Declaration: double(Tensor input, int times) -> Tensor
    """
    schemas = [FunctionSchema.parse(each) for each in declarations]

    def decorate(function: _Function) -> _Function:
        @wraps(function)
        def check(*args: Any, **kwargs: Any) -> Any:
            fitting = next((each for each in schemas[:-1] if matches(each, args, kwargs, _is_tensor)), schemas[-1])
            if len(schemas) > 1 and fitting is schemas[-1] and not matches(fitting, args, kwargs, _is_tensor):
                raise invalid_combination(function.__name__, schemas, args, kwargs, _is_tensor)
            return function(*bind(fitting, args, kwargs, _is_tensor))

        return api_boundary(check)  # type: ignore[return-value]  # of the same signature

    return decorate


def refuse_key(tensor: Tensor, what: str, hint: str = "quantize_per_tensor() makes a quantized tensor") -> NoReturn:
    """Raise torch's error for an operator that tensors of this layout and device have no kernel for."""
    known = find_layout(tensor)
    key = ("" if known is None else known.keys_prefix) + tensor.device.type.upper()
    raise NotImplementedError(f"Could not run 'aten::{what}' with arguments from the '{key}' backend.\nHint: {hint}")
