"""Modes that see every operator's call (source: ``torch.utils._python_dispatch``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar

import dispatch_core as dc
from dispatch_core.frontends import current_modes, reset_masks, set_masks, without_included

from ..functions.number_arguments import find_shown, show_call
from ..overrides.aliasing import (
    TensorWithFlatten,
    is_traceable_wrapper_subclass,
    return_and_correct_aliasing,
    transform_subclass,
)
from ..overrides.dispatch import find_handlers
from ..tensors.overriding_classes import DISPATCHING, PYTHON
from ..tensors.tensor import Tensor
from .dispatch_rules import RULES

__all__ = [
    "BaseTorchDispatchMode",
    "TensorWithFlatten",
    "TorchDispatchMode",
    "is_traceable_wrapper_subclass",
    "return_and_correct_aliasing",
    "transform_subclass",
]


def _call_with_types(handler: Any, func: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Call a handler with the classes of the arguments that have one of their own."""
    return handler(func, tuple(map(type, find_handlers((*args, *(kwargs or {}).values())))), args, kwargs)


def _call_with_shown(handler: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Call a handler with the overload that torch shows; see Note [Overloads with numbers]."""
    if find_shown(func) is not func:
        func, args, kwargs = show_call(func, args, kwargs)
    return handler(func, types, args, kwargs)


class TorchDispatchMode(dc.DispatchMode):
    """Receive every operator that this thread or task calls while a block runs, and do something else instead.

    `dispatch_core.DispatchMode` under torch's names: a subclass writes ``__torch_dispatch__(self, func, types, args=(),
    kwargs=None)``, and its result is the call's. In the handler, ``func`` returns tensors, of factories too
    (source: ``torch.utils._python_dispatch.TorchDispatchMode``).

    >>> import torchlike
    >>> class Logging(TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func.name)
    ...         return func(*args, **(kwargs or {}))
    >>> x, y = torchlike.ones(2, 3), torchlike.ones(3, 4, requires_grad=True)
    >>> with Logging():
    ...     (x @ y).sum().backward()
    aten::mm
    aten::sum
    aten::ones_like
    aten::expand
    aten::t
    aten::mm
    """

    tensor_type: ClassVar[type | None] = Tensor
    handler_name: ClassVar[str] = "__torch_dispatch__"

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Return whether the mode serves tools and not the program: False unless a class says so."""
        return False

    def dispatch_handler(self) -> Callable[..., Any]:
        """Return the function that gets the calls: rules of single operators for the class come first.

        Raises ``RuntimeError`` where the handler is a classmethod, which would not know its mode.
        """
        handler, cls = super().dispatch_handler(), type(self)
        if getattr(handler, "__self__", None) is cls:
            raise RuntimeError(
                f"Defining your mode's `__torch_dispatch__` of {cls.__qualname__} as a classmethod is not supported, please"
                " make it a plain method"
            )
        if DISPATCHING:
            handler = partial(_call_with_types, handler)
        rules = {name: rule for (name, owner), rule in RULES.items() if owner is cls}
        if not rules:
            return partial(_call_with_shown, handler)

        def handle(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            func, args, kwargs = show_call(func, args, kwargs)
            rule = rules.get(func.name)
            return handler(func, types, args, kwargs) if rule is None else rule(self, func, types, args, kwargs)

        return handle

    def __torch_dispatch__(
        self, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Handle one call, and return its result."""
        raise NotImplementedError(f"{type(self).__qualname__} does not define __torch_dispatch__")


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that passes every call on (source: ``torch.utils._python_dispatch.BaseTorchDispatchMode``)."""

    def __torch_dispatch__(
        self, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call the operator."""
        return func(*args, **(kwargs or {}))


def _get_current_dispatch_mode() -> Any:
    modes = current_modes()
    return modes[-1] if modes else None


def _get_current_dispatch_mode_stack() -> list[Any]:
    return current_modes()


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Return whether a mode is on; without ``include_infra_modes``, one that serves the program.

    >>> with BaseTorchDispatchMode():
    ...     is_in_torch_dispatch_mode()
    True
    """
    modes = current_modes()
    return any(include_infra_modes or not getattr(type(mode), "is_infra_mode", bool)() for mode in modes)


@contextmanager
def _disable_current_modes() -> Iterator[list[Any]]:
    """Turn all modes off while a block runs."""
    modes = current_modes()
    token = set_masks[without_included(PYTHON)]
    try:
        yield modes
    finally:
        reset_masks(token)
