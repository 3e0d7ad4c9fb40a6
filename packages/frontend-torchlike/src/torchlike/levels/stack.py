"""The stack of levels of the running thread or task, and the guards that push and pop one.

Note [A level in use]
    While levels are open, the context's masks include ``FuncTorchDynamicLayerFrontMode``, so that every call arrives at the
    layer, tensors of a level or not: random numbers, writes to captured tensors and ``no_grad`` concern it. Without levels
    nothing is masked, and calls do not know of the layer. A level's work is done with the stack popped: `below` takes the
    top level away, and with the last one the key.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextvars import ContextVar
from functools import lru_cache
from types import TracebackType
from typing import Any, ClassVar, Final, Self

from dispatch_core.frontends import current_masks, reset_masks, set_masks, with_included, without_included
from dispatch_core.interrupts import Guard, by_subscript, whole

from ..history import grad_mode
from ..history.transforms import FRONT

__all__ = ["FRONT", "TransformLevel", "above", "below", "current_levels", "run_below"]

_levels: Final[ContextVar[tuple[TransformLevel, ...]]] = ContextVar("torchlike.levels", default=())
current_levels: Final = _levels.get
_set_levels, _reset_levels = by_subscript(_levels.set), _levels.reset
_numbers: Final = itertools.count(1)


class TransformLevel:
    """One transform that is under way: its rule for a call, and the tensors that are its own."""

    #: The transform's name, for errors and pictures.
    kind: ClassVar[str]

    def __init__(self) -> None:
        #: Tells levels apart for good.
        self.number = next(_numbers)
        #: The place in the stack, counted from 1, while the level is open.
        self.depth = 0
        #: Whether `grad_mode` may differ from the context's.
        self.has_mode = type(self).grad_mode is not TransformLevel.grad_mode

    @classmethod
    def bind(
        cls, op: Any, keyset: Any, general: Callable[[tuple[TransformLevel, ...], tuple[Any, ...]], Any]
    ) -> Callable[[tuple[TransformLevel, ...], tuple[Any, ...]], Any]:
        """Return a function of the open levels and a call's arguments, which runs calls of one operator with one keyset.

        It is made once, again when a registration changes, and may leave calls to ``general``, which opens the tensors of
        closed levels and goes by `call`.
        """
        return general

    @classmethod
    def bind_below(cls, op: Any) -> Callable[[tuple[TransformLevel, ...], tuple[Any, ...]], Any]:
        """Return a function of the same, which runs calls of an operator one level below, after the level's own kernels."""
        raise NotImplementedError(
            f"{cls.__name__} has no method bind_below, and no kernels of its own that go on below"
        )

    def call(self, keyset: Any, op: Any, values: tuple[Any, ...]) -> Any:
        """Run a call that arrived with this level on top; ``values`` are all arguments in the schema's order."""
        raise NotImplementedError(f"{type(self).__name__} has no method call, which runs what arrives at a level")

    def owns(self, value: Any) -> bool:
        """Return whether a value is a tensor of the level."""
        return getattr(getattr(value, "_dispatch_data", None), "level", None) is self

    @property
    def grad_mode(self) -> bool:
        """Whether calls below the level are recorded for backward."""
        return grad_mode.is_grad_enabled()

    def open_closed(self, tensor: Any) -> Any:
        """Return the tensor that represents a tensor of the level, once that is closed; raises where none does."""
        raise RuntimeError(f"a tensor of {self!r} has left its function, and means nothing there")

    def __repr__(self) -> str:
        return f"<{self.kind} level {self.number}, {'open' if self in current_levels() else 'closed'}>"


class _Stacked(Guard):
    """Hold a stack of levels, with the masks and the grad mode that belong to it, while a block runs."""

    __slots__ = ()

    @whole
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            levels, masks, mode, outer = self._tokens  # type: ignore[misc]  # a guard that is left was entered
            grad_mode.reset_mode(mode)
            reset_masks(masks)
            _reset_levels(levels)
            self._tokens = outer
        except BaseException:
            self._finish()
            raise

    def close(self) -> None:
        """Leave the block, unless that was done."""
        self._leave(None)


class above(_Stacked):  # noqa: N801  # a context manager is spelled like a function
    """Push a level while a block runs; recording for backward is on there."""

    __slots__ = ("_level", "_records")

    def __init__(self, level: TransformLevel, *, records: bool | None = None) -> None:
        self._level, self._records, self._tokens = level, records, None

    def __enter__(self) -> Self:
        outer, level = self._tokens, self._level
        stack, masks = (*current_levels(), level), with_included(FRONT)
        level.depth = len(stack)
        records = grad_mode.is_grad_enabled() if self._records is None else self._records
        try:
            self._tokens = (_set_levels[stack], set_masks[masks], grad_mode.set_mode[records], outer)
            return self
        except BaseException:
            self._leave(outer)
            raise


class below(_Stacked):  # noqa: N801  # a context manager is spelled like a function
    """Take the top level away while a block runs; see Note [A level in use]."""

    __slots__ = ()

    def __init__(self) -> None:
        self._tokens = None

    def __enter__(self) -> Self:
        outer = self._tokens
        if not (levels := current_levels()):
            raise RuntimeError("below: no level is open\nHint: a level is open in `with above(level):`")
        rest, records = levels[:-1], levels[-1].grad_mode
        masks = current_masks() if rest else without_included(FRONT)
        try:
            self._tokens = (_set_levels[rest], set_masks[masks], grad_mode.set_mode[records], outer)
            return self
        except BaseException:
            self._leave(outer)
            raise


@lru_cache(maxsize=256)
def _without_front(masks: Any) -> Any:
    """Return the context's masks, which are the argument, without the layer's key."""
    return without_included(FRONT)


def run_below(levels: tuple[TransformLevel, ...], function: Callable[..., Any], *args: Any) -> Any:
    """Call a function as in a block of `below`, in less time; ``levels`` are those that are open."""
    level = levels[-1]
    if level.has_mode and level.grad_mode is not grad_mode.is_grad_enabled():
        with below():
            return function(*args)
    token = _set_levels[levels[:-1]]
    try:
        if len(levels) > 1:
            return function(*args)
        masks = set_masks[_without_front(current_masks())]
        try:
            return function(*args)
        finally:
            reset_masks(masks)
    finally:
        _reset_levels(token)
