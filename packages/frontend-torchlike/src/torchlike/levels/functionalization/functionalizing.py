"""Functions without writes, made of functions that write (source: ``torch.func.functionalize``)."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from dispatch_core.tracebacks import api_boundary

from ...values.pytree import tree_map
from .. import front  # noqa: F401  # registers the layer
from ..stack import above
from .functional_level import FunctionalLevel

_KINDS = ("mutations", "mutations_and_views")


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """Return a function that does as ``func`` without writing to any tensor (source: ``torch.func.functionalize``).

    Every write becomes a new value, which the views of the tensor share; the arguments and captured tensors that the
    function writes to are given their last values by one ``copy_`` each at the end. A result that is an argument, or a view
    of one, is so outside, too. With ``remove="mutations_and_views"`` views are copies inside. Raises ``RuntimeError`` for
    another ``remove``, for a write to a tensor that shares its memory in an unknown way, and where the function changes the
    shape of a tensor from outside in place.

    >>> import dispatch_core as dc
    >>> import torchlike
    >>> def clear_first(x):
    ...     x[0].zero_()
    ...     return x + 1
    >>> x = torchlike.ones(2)
    >>> with dc.trace() as trace:
    ...     y = functionalize(clear_first)(x)
    >>> x, y
    (tensor([0., 1.]), tensor([1., 2.]))
    >>> print(trace)
    graph(%0):
        %1 = aten::select.int(%0, 0, 0)
        %2 = aten::fill.Scalar(%1, 0)
        %3 = aten::reshape(%2, (1,))
        %4 = aten::slice_scatter(%0, %3, 0, 0, 1, 1)
        %5 = aten::select.int(%4, 0, 0)
        %6 = aten::add.Scalar(%4, 1, 1)
        aten::copy_(%0, %4, False)
        return %0
    """
    if remove not in _KINDS:
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are:\n"
            "     remove='mutations': all inplace and out= operators will be removed from the program, and replaced with"
            " their out-of-place equivalents.\n     remove='mutations_and_views': In addition to the above, all aliasing"
            " operators {view} will be replaced with their non-aliasing counterparts, {view}_copy."
        )

    @wraps(func)
    @api_boundary
    def call(*args: Any, **kwargs: Any) -> Any:
        level = FunctionalLevel(removes_views=remove == _KINDS[1])
        try:
            with above(level):
                result = func(*tree_map(level.enter, list(args)), **tree_map(level.enter, kwargs))
        finally:
            level.write_back()
        return tree_map(level.leave, result)

    return call


class ValueBlock:
    """A block of a program whose writes become values, for ``dc.trace(functional=True)``."""

    def __init__(self) -> None:
        self._level = FunctionalLevel(settles=True)
        self._guard = above(self._level)

    def begin(self) -> None:
        """Open the level."""
        self._guard.__enter__()

    def end(self) -> None:
        """Close the level, unless that was done."""
        self._guard.close()

    def finish(self) -> None:
        """Write to the tensors from outside, once each."""
        self._level.write_back()

    def settle(self) -> None:
        """Turn the tensors of the block into ordinary ones."""
        self._level.settle()

    def leave(self, tensor: Any) -> Any:
        """Return the tensor outside for one of the block, after the end."""
        return self._level.leave(tensor)
