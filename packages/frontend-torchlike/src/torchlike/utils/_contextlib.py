"""Blocks that also decorate functions (source: ``torch.utils._contextlib``)."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any, Self, TypeVar

from ..history.grad_mode import decorate

F = TypeVar("F", bound=Callable[..., Any])


def context_decorator(ctx: Any, func: F) -> F:
    """Return a function each call of which, and each step of whose generator, runs in a block.

    Args:
        ctx: The block, which can be entered several times, or a function that returns one.
        func: The function.

    Raises ``AssertionError`` for a block that can be called, too, and ``RuntimeError`` for a class.

    >>> from contextlib import nullcontext
    >>> context_decorator(lambda: nullcontext(), len)("ab")
    2
    """
    if callable(ctx) and hasattr(ctx, "__enter__"):
        raise AssertionError(
            f"{ctx} is both callable and a context manager, so it is not known whether a call gives the block\n"
            "Hint: pass lambda: ctx() or lambda: ctx"
        )
    if inspect.isclass(func):
        raise RuntimeError(
            "Cannot decorate classes, of which the constructor or all methods could be meant\nHint: decorate its methods"
        )
    return decorate(ctx if callable(ctx) else lambda: ctx, func)


class _DecoratorContextManager:
    """The base of blocks that also decorate functions; a subclass defines ``__enter__`` and ``__exit__``.

    One whose constructor takes arguments also defines ``clone``, which returns the block of one call.

    >>> class Loud(_DecoratorContextManager):
    ...     def __enter__(self):
    ...         print("in")
    ...     def __exit__(self, *exc):
    ...         print("out")
    >>> @Loud()
    ... def work():
    ...     print("work")
    >>> work()
    in
    work
    out
    """

    def __call__(self, orig_func: F) -> F:
        """Decorate a function."""
        func: Any = orig_func
        if inspect.isclass(orig_func):
            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You should only decorate "
                "functions or methods. To preserve the current behavior of class decoration, you can directly decorate "
                "the `__init__` method and nothing else.",
                FutureWarning,
                stacklevel=2,
            )

            def func(*args: Any, **kwargs: Any) -> Any:
                return orig_func(*args, **kwargs)

        found: F = context_decorator(self.clone, func)
        return found

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> Any:
        raise NotImplementedError

    def clone(self) -> Self:
        """Return a block of the same kind, for one call of a decorated function."""
        return self.__class__()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """The same for blocks without arguments, which decorate without parentheses, too."""

    def __new__(cls, orig_func: Any = None) -> Any:
        """Return a block, or the decorated function."""
        return super().__new__(cls) if orig_func is None else cls()(orig_func)
