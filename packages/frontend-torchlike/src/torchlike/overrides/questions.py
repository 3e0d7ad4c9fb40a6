"""The questions by which functions of libraries tell whether an argument overrides them, and the call that hands them on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from dispatch_core.frontends import current_masks

from ..overriding import handling
from ..overriding.handling import (
    are_classes_asked,
    are_modes_asked,
    call_override,
    has_override,
    is_skipped,
    list_overloaded,
    skip_once,
)
from ..overriding.mode_stack import list_modes
from ..tensors.overriding_classes import MODES

__all__ = [
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "redispatch_function",
]


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Return whether the class of an argument, or a mode, overrides functions here (source: ``torch.overrides``).

    >>> import torchlike
    >>> class Ours(torchlike.Tensor): ...
    >>> has_torch_function([torchlike.ones(2)]), has_torch_function([torchlike.ones(2).as_subclass(Ours)])
    (False, True)
    """
    try:
        found = are_modes_asked() or (are_classes_asked() and any(map(has_override, relevant_args)))
    except TypeError:
        raise TypeError(f"expected a sequence of arguments, not {type(relevant_args).__name__}") from None
    return found and not is_skipped()


def has_torch_function_unary(value: Any) -> bool:
    """Return the same for one argument (source: ``torch.overrides.has_torch_function_unary``).

    >>> has_torch_function_unary(1)
    False
    """
    return has_torch_function((value,))


def has_torch_function_variadic(*relevant_args: Any) -> bool:
    """Return the same for arguments given one by one (source: ``torch.overrides.has_torch_function_variadic``).

    >>> has_torch_function_variadic(1, 2)
    False
    """
    return has_torch_function(relevant_args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Call what overrides a function for these arguments (source: ``torch.overrides.handle_torch_function``).

    ``relevant_args`` are the arguments whose classes are asked. Raises ``TypeError`` where each of them declines.

    >>> class Ours:
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return func.__name__, kwargs
    >>> def scale(x, by=2):
    ...     if has_torch_function_unary(x):
    ...         return handle_torch_function(scale, (x,), x, by=by)
    ...     return x * by
    >>> scale(Ours())
    ('scale', {'by': 2})
    """
    return call_override(public_api, list_overloaded(relevant_args), args, kwargs)


def redispatch_function(
    func: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...], kwargs: dict[str, Any] | None
) -> Any:
    """Call a function in a handler: it does not ask for overrides, the functions that it calls do.

    (source: ``torch.overrides.redispatch_function``) ``func``, ``types``, ``args`` and ``kwargs`` are the handler's.

    >>> import torchlike
    >>> class Told(torchlike.Tensor):
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return redispatch_function(func, types, args, kwargs)
    >>> def square(x):
    ...     if has_torch_function_unary(x):
    ...         return handle_torch_function(square, (x,), x)
    ...     return x * x
    >>> square(torchlike.tensor(3.).as_subclass(Told)).item()
    square
    mul
    9.0
    """
    return skip_once(func, args, kwargs or {})


def is_tensor_like(inp: Any) -> bool:
    """Return whether a value is a tensor or has ``__torch_function__`` (source: ``torch.overrides.is_tensor_like``).

    >>> import torchlike
    >>> is_tensor_like(torchlike.ones(2)), is_tensor_like([1.0])
    (True, False)
    """
    return handling.is_tensor_like(inp)


def _is_torch_function_enabled() -> bool:
    return are_classes_asked()


def _is_torch_function_all_disabled() -> bool:
    state = current_masks()
    return not are_classes_asked() and state is not None and bool(state[1] & MODES)


def _is_torch_function_mode_enabled() -> bool:
    return are_modes_asked()


def _len_torch_function_stack() -> int:
    return len(list_modes())
