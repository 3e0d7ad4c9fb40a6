"""Modes that get every call of torch's functions in a block, and blocks in which nothing is overridden."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

import dispatch_core as dc
from dispatch_core.frontends import current_masks, find_with_autograd, reset_masks, set_masks

from ..overriding import mode_stack
from ..overriding.callers import find_called, leave_out_defaults
from ..overriding.handling import (
    are_classes_asked,
    are_modes_asked,
    begin,
    call_override,
    find_overriding,
    is_skipped,
)
from ..overriding.public_attributes import publish_to_instances
from ..tensors.overriding_classes import CLASSES, MODES

__all__ = [
    "BaseTorchFunctionMode",
    "DisableTorchDispatch",
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "TorchFunctionMode",
]


class TorchFunctionMode:
    """Receive every call of a function of torchlike while a block runs (source: ``torch.overrides.TorchFunctionMode``).

    A subclass writes ``__torch_function__(self, func, types, args=(), kwargs=None)``, whose result is the call's;
    ``NotImplemented`` leaves it to the mode around it, and then to the classes of the arguments. In the handler the mode is
    off.

    >>> import torchlike
    >>> class Named(TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return func(*args, **(kwargs or {}))
    >>> with Named():
    ...     _ = torchlike.ones(2) + 1
    ones
    add
    """

    def __torch_function__(
        self, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Handle one call; a subclass has to define it."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        begin_modes()
        entered: list[Any] = self.__dict__.setdefault("_entered", [])
        entered.append(mode_stack.set_modes((*mode_stack.list_modes(), self)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        mode_stack.reset(self.__dict__["_entered"].pop())

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Self:
        """Return a mode made with these arguments."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that passes every call on (source: ``torch.overrides.BaseTorchFunctionMode``)."""

    def __torch_function__(
        self, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call the function."""
        return func(*args, **(kwargs or {}))


def begin_modes() -> None:
    """Make calls look for modes from now on."""
    if not mode_stack.ENTERED:
        begin()
        publish_to_instances()
        mode_stack.ENTERED.append(True)
        dc.registry.ensure_fallback(dc.DispatchKey.TorchFunctionMode, _handle, with_keyset=True)


def _handle(keyset: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
    """Hand on the call of an operator that no function of torch's has made."""
    if are_modes_asked() and (called := find_called(op)) is not None and not is_skipped(called):
        found = find_overriding((*args, *kwargs.values())) if are_classes_asked() else []
        return call_override(called, found, *leave_out_defaults(op, args, kwargs))
    return op.redispatch(keyset - "TorchFunctionMode", *args, **kwargs)


class _Disabled:
    """A block in which keys of overriding are off."""

    _keys: tuple[str, ...]

    def __enter__(self) -> None:
        guard = dc.exclude_keys(*self._keys)
        self.__dict__.setdefault("_entered", []).append(guard)
        guard.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.__dict__["_entered"].pop().__exit__(kind, error, traceback)


class DisableTorchFunctionSubclass(_Disabled):
    """Turn off the overrides of classes, but not those of modes, while a block runs (source: ``torch._C``).

    >>> import torchlike
    >>> class Ours(torchlike.Tensor): ...
    >>> with DisableTorchFunctionSubclass():
    ...     type(torchlike.ones(2).as_subclass(Ours) + 1).__name__
    'Tensor'
    """

    _keys = ("TorchFunction",)


class DisableTorchFunction(_Disabled):
    """Turn off all overrides while a block runs (source: ``torch._C.DisableTorchFunction``)."""

    _keys = ("TorchFunction", "TorchFunctionMode")


class DisableTorchDispatch(_Disabled):
    """Turn off the handlers of operators, of modes and of classes, while a block runs (source: ``torch._C``).

    Tensors that have elements are computed with as if they were of no class.
    """

    _keys = ("Python",)


class _EnableTorchFunction:
    """Turn overrides on again, within a block that has turned them off, for a block or while the object lives."""

    def __init__(self) -> None:
        included, excluded = current_masks() or (0, 0)
        excluded &= ~(CLASSES | MODES)
        self._token = set_masks[(included, excluded) if included or excluded else None]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._finish()

    def __del__(self) -> None:
        self._finish()

    def _finish(self) -> None:
        token = self.__dict__.pop("_token", None)
        if token is not None:
            reset_masks(token)


@contextmanager
def _enable_torch_function() -> Iterator[None]:
    with _EnableTorchFunction():
        yield


def _get_current_function_mode() -> Any:
    return mode_stack.innermost()


def _get_current_function_mode_stack() -> list[Any]:
    return list(mode_stack.list_modes())


def _get_function_stack_at(level: int) -> Any:
    return mode_stack.list_modes()[level]


def _push_on_torch_function_stack(mode: Any) -> None:
    begin_modes()
    mode_stack.set_modes((*mode_stack.list_modes(), mode))


def _pop_torch_function_stack() -> Any:
    mode = mode_stack.innermost()
    mode_stack.set_modes(mode_stack.list_modes()[:-1])
    return mode


@contextmanager
def _pop_mode_temporarily() -> Iterator[Any]:
    mode = mode_stack.innermost()
    with mode_stack.without_innermost():
        yield mode


@contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """Record gradients in a handler again, which runs below autograd, while a block runs (source: ``torch.overrides``)."""
    token = set_masks[find_with_autograd()]
    try:
        yield
    finally:
        reset_masks(token)
