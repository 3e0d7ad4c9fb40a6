"""Functions and methods that take or return something else than the operator of their name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import dispatch_core as dc

from .arguments import to_python_number
from .tensors import Tensor

__all__ = ["ADAPTED", "METHOD_FORMS"]


def _as_tuple(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a tuple instead of a list of tensors, as torch does."""

    def many(*args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
        return tuple(function(*args, **kwargs))

    return many


def _of_tensors(function: Callable[..., Any]) -> Callable[..., Any]:
    def many(*tensors: Any, **kwargs: Any) -> tuple[Tensor, ...]:
        given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
        return tuple(function(list(given), **kwargs))

    return many


def _split(function: Callable[..., Any]) -> Callable[..., Any]:
    by_sizes = dc.ops.aten.split_with_sizes

    def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
        one = not isinstance(split_size_or_sections, (list, tuple))
        return tuple((function if one else by_sizes)(tensor, split_size_or_sections, dim))

    return split


def _tensor_split(function: Callable[..., Any]) -> Callable[..., Any]:
    def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
        where = indices_or_sections
        return tuple(function(input, where.tolist() if isinstance(where, Tensor) else where, dim))

    return tensor_split


def _nonzero(function: Callable[..., Any]) -> Callable[..., Any]:
    by_dimension = dc.ops.aten.nonzero_numpy

    def nonzero(input: Tensor, *, out: Any = None, as_tuple: bool = False) -> Any:
        if as_tuple:
            return tuple(by_dimension(input))
        return function(input) if out is None else function(input, out=out)

    return nonzero


def _norm(function: Callable[..., Any]) -> Callable[..., Any]:
    def norm(input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
        if isinstance(p, str):
            if p != "fro":
                raise NotImplementedError(f"norm(): p={p!r} is not implemented; numbers and 'fro' are")
            p = 2
        options = {} if dtype is None else {"dtype": dtype}
        if dim is None and not keepdim:
            found: Tensor = function(input, p, **options)
            return found
        found = function(input, p, [] if dim is None else dim, keepdim, **options)
        return found

    return norm


def _where(function: Callable[..., Any]) -> Callable[..., Any]:
    def where(condition: Tensor, *args: Any, **kwargs: Any) -> Any:
        found = function(condition, *map(to_python_number, args), **kwargs)
        return tuple(found) if isinstance(found, list) else found

    return where


def _of_some(error: type[Exception], text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Refuse an empty list in torch's words; with no tensor in the call, the dispatcher knows no device to go to."""

    def adapt(function: Callable[..., Any]) -> Callable[..., Any]:
        def join(tensors: Any, *args: Any, **kwargs: Any) -> Tensor:
            if not isinstance(tensors, Tensor) and not len(tensors):
                raise error(text)
            found: Tensor = function(tensors, *args, **kwargs)
            return found

        return join

    return adapt


#: Functions that take or give something else than the operator of their name.
ADAPTED: Final[dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]]] = {
    "broadcast_tensors": _of_tensors,
    "cat": _of_some(ValueError, "torchlike.cat(): expected a non-empty list of Tensors"),
    "chunk": _as_tuple,
    "concat": _of_some(ValueError, "torchlike.cat(): expected a non-empty list of Tensors"),
    "hstack": _of_some(RuntimeError, "hstack expects a non-empty TensorList"),
    "meshgrid": _of_tensors,
    "nonzero": _nonzero,
    "norm": _norm,
    "split": _split,
    "split_with_sizes": _as_tuple,
    "stack": _of_some(RuntimeError, "stack expects a non-empty TensorList"),
    "tensor_split": _tensor_split,
    "unbind": _as_tuple,
    "vstack": _of_some(RuntimeError, "vstack expects a non-empty TensorList"),
    "where": _where,
}


def _make_split_method(split: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Tensor, split_size: Any, dim: int = 0) -> Any:
        """Return the parts of this size, or of these sizes, along a dimension."""
        return split(self, split_size, dim)

    return method


def _make_where_method(where: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Tensor, condition: Tensor, other: Any) -> Any:
        """Return the elements of the tensor where ``condition`` holds, and those of ``other`` elsewhere."""
        return where(condition, self, other)

    return method


#: Methods whose arguments have other names, or another order, than those of the function.
METHOD_FORMS: Final = {"split": _make_split_method, "where": _make_where_method}
