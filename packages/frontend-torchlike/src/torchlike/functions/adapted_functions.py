"""Functions and methods that take or return something else than the operator of their name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import dispatch_core as dc

from ..creation.factories import FACTORIES
from ..tensors.arguments import to_python_number
from ..tensors.tensor import Tensor
from .matrices import ADAPTED as _OF_MATRICES


def _adapt_tuple(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a tuple instead of a list of tensors, as torch does."""

    def many(*args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
        # To spread arguments costs as much as the check of them.
        if not kwargs and len(args) == 2:
            return tuple(function(args[0], args[1]))
        return tuple(function(*args, **kwargs))

    return many


def _adapt_copies(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a tuple, or write it into as many tensors and return None, as torch does."""

    def copies(*args: Any, out: Any = None, **kwargs: Any) -> tuple[Tensor, ...] | None:
        found = tuple(function(*args, **kwargs))
        if out is None:
            return found
        if len(out) != len(found):
            name = function.__name__
            raise RuntimeError(f"{name}() expected an out= argument of size {len(found)}, got size {len(out)}")
        for into, each in zip(out, found, strict=True):
            (into if into.numel() else into.resize_(each.shape)).copy_(each)
        return None

    return copies


def _adapt_tensors(function: Callable[..., Any]) -> Callable[..., Any]:
    def many(*tensors: Any, **kwargs: Any) -> tuple[Tensor, ...]:
        given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
        return tuple(function(list(given), **kwargs))

    return many


def _adapt_meshgrid(function: Callable[..., Any]) -> Callable[..., Any]:
    many, by_name = _adapt_tensors(function), _adapt_tensors(dc.ops.aten.meshgrid.indexing)

    def meshgrid(*tensors: Any, **kwargs: Any) -> tuple[Tensor, ...]:
        if kwargs.get("indexing", "") is None:
            del kwargs["indexing"]
        return (by_name if "indexing" in kwargs else many)(*tensors, **kwargs)

    return meshgrid


def _adapt_each(function: Callable[..., Any]) -> Callable[..., Any]:
    """Take one tensor and return it, or several, or a list of them, and return a tuple."""
    of_list = getattr(dc.ops.aten, function.__name__).Sequence

    def many(*tensors: Any) -> Any:
        if len(tensors) == 1 and isinstance(tensors[0], Tensor):
            return function(tensors[0])
        given = tensors[0] if len(tensors) == 1 else tensors
        if not isinstance(given, (list, tuple)):
            name, kind = function.__name__, type(given).__name__
            raise TypeError(f"{name}(): argument 'tensors' must be tuple of Tensors, not {kind}")
        return tuple(of_list(list(given)))

    return many


def _adapt_all(function: Callable[..., Any]) -> Callable[..., Any]:
    """Take tensors one by one."""

    def one(*tensors: Any) -> Any:
        return function(list(tensors))

    return one


def _adapt_block_diag(function: Callable[..., Any]) -> Callable[..., Any]:
    def block_diag(*tensors: Any) -> Any:
        return function(list(tensors)) if tensors else FACTORIES["empty"](1, 0)

    return block_diag


def _adapt_unique_consecutive(function: Callable[..., Any]) -> Callable[..., Any]:
    def unique_consecutive(
        input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
    ) -> Any:
        found = function(input, return_inverse=return_inverse, return_counts=return_counts, dim=dim)
        return select_results(found, return_inverse, return_counts)

    return unique_consecutive


def select_results(found: Any, return_inverse: bool, return_counts: bool) -> Any:
    """Return distinct elements with the further results that were asked for, alone if none was."""
    wanted = (True, return_inverse, return_counts)
    chosen = tuple(each for each, is_wanted in zip(found, wanted, strict=True) if is_wanted)
    return chosen if len(chosen) > 1 else chosen[0]


def _adapt_split(function: Callable[..., Any]) -> Callable[..., Any]:
    by_sizes = dc.ops.aten.split_with_sizes

    def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
        one = not isinstance(split_size_or_sections, (list, tuple))
        return tuple((function if one else by_sizes)(tensor, split_size_or_sections, dim))

    return split


def _adapt_tensor_split(function: Callable[..., Any]) -> Callable[..., Any]:
    by_tensor = dc.ops.aten.tensor_split.tensor_indices_or_sections

    def tensor_split(*args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
        if "tensor_indices_or_sections" in kwargs or (len(args) > 1 and isinstance(args[1], Tensor)):
            if "input" in kwargs:
                kwargs["self"] = kwargs.pop("input")
            return tuple(by_tensor(*args, **kwargs))
        return tuple(function(*args, **kwargs))

    return tensor_split


def _adapt_split_along(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a tuple; places may be written one by one."""

    def many(*args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
        given = (args[0], args[1:]) if len(args) > 2 else args
        return tuple(function(*given, **kwargs))

    return many


def _adapt_narrow(function: Callable[..., Any]) -> Callable[..., Any]:
    by_tensor = dc.ops.aten.narrow.Tensor

    def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
        return (by_tensor if isinstance(start, Tensor) else function)(input, dim, start, length)

    return narrow


def _adapt_nonzero(function: Callable[..., Any]) -> Callable[..., Any]:
    by_dimension = dc.ops.aten.nonzero_numpy

    def nonzero(input: Tensor, *, out: Any = None, as_tuple: bool = False) -> Any:
        if as_tuple:
            if out is not None:
                raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
            return tuple(by_dimension(input))
        return function(input) if out is None else function(input, out=out)

    return nonzero


def _adapt_norm(function: Callable[..., Any]) -> Callable[..., Any]:
    aten = dc.ops.aten

    def norm(
        input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: Any = None
    ) -> Tensor:
        dims = [dim] if isinstance(dim, int) else None if dim is None else list(dim)
        found: Tensor
        if not isinstance(p, str) or (p == "fro" and (dims is None or len(dims) <= 2)):
            size = 2 if p is None or p == "fro" else p
            found = aten.linalg_vector_norm(
                input, size, dims, keepdim, dtype=dtype, **({} if out is None else {"out": out})
            )
            return found
        dims = list(range(input.ndim)) if dims is None else dims
        found = aten.linalg_matrix_norm(input, p, dims, keepdim, dtype=dtype, **({} if out is None else {"out": out}))
        return found

    return norm


def _adapt_where(function: Callable[..., Any]) -> Callable[..., Any]:
    def where(condition: Tensor, *args: Any, **kwargs: Any) -> Any:
        found = function(condition, *map(to_python_number, args), **kwargs)
        return tuple(found) if isinstance(found, list) else found

    return where


_DISTANCE_MODES: Final = {
    "use_mm_for_euclid_dist_if_necessary": None,
    "use_mm_for_euclid_dist": 1,
    "donot_use_mm_for_euclid_dist": 2,
}


def _adapt_cdist(function: Callable[..., Any]) -> Callable[..., Any]:
    def cdist(
        x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary"
    ) -> Tensor:
        if compute_mode not in _DISTANCE_MODES:
            got = compute_mode if isinstance(compute_mode, str) else f"an object of type {type(compute_mode).__name__}"
            raise ValueError(f"{got} is not a valid value for compute_mode")
        return function(x1, x2, p, _DISTANCE_MODES[compute_mode])

    return cdist


#: Functions that take or return something else than the operator of their name.
ADAPTED: Final[dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]]] = {
    "atleast_1d": _adapt_each,
    "atleast_2d": _adapt_each,
    "atleast_3d": _adapt_each,
    "block_diag": _adapt_block_diag,
    "broadcast_tensors": _adapt_tensors,
    "cartesian_prod": _adapt_all,
    "dsplit": _adapt_split_along,
    "gradient": _adapt_tuple,
    "hsplit": _adapt_split_along,
    "split_copy": _adapt_copies,
    "split_with_sizes_copy": _adapt_copies,
    "unbind_copy": _adapt_copies,
    "unique_consecutive": _adapt_unique_consecutive,
    "unsafe_chunk": _adapt_tuple,
    "unsafe_split": _adapt_tuple,
    "unsafe_split_with_sizes": _adapt_tuple,
    "vsplit": _adapt_split_along,
    "cdist": _adapt_cdist,
    "chunk": _adapt_tuple,
    "meshgrid": _adapt_meshgrid,
    "narrow": _adapt_narrow,
    "nonzero": _adapt_nonzero,
    "norm": _adapt_norm,
    "split": _adapt_split,
    "split_with_sizes": _adapt_tuple,
    "tensor_split": _adapt_tensor_split,
    "unbind": _adapt_tuple,
    "where": _adapt_where,
    **_OF_MATRICES,
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


def _make_polygamma_method(polygamma: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Tensor, n: int) -> Any:
        """Return the derivatives of this order of the digamma function."""
        return polygamma(n, self)

    return method


#: Methods whose arguments have other names, or another order, than those of the function.
METHOD_FORMS: Final = {"polygamma": _make_polygamma_method, "split": _make_split_method, "where": _make_where_method}
