"""Sparse tensors of places and values, and of strided tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import wraps
from math import prod
from typing import Any, Final, ParamSpec, Self, TypeVar, cast

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType, get_default_dtype
from dispatch_core import frontends
from dispatch_core.tracebacks import api_boundary

from ..creation.factories import as_tensor
from ..overriding.handling import Override
from ..overriding.mode_stack import ENTERED
from ..tensors.tensor import Tensor
from ..values.argument_types import DeviceLike
from ..values.dtypes import dtype as DType  # noqa: N812  # torch's name is that of an argument
from ..values.layouts import layout, sparse_coo, strided
from .compressed.conversions import to_layout
from .compressed.tensor import is_compressed
from .operators import ops
from .tensor import count_through, is_sparse, record_of

P = ParamSpec("P")
T = TypeVar("T")
_checks: Final[ContextVar[bool]] = ContextVar("torchlike.sparse_invariants", default=False)


class check_sparse_tensor_invariants:  # noqa: N801  # torch's name
    """Switch the check of everything that must hold of a sparse tensor, in a block or for good.

    Source: ``torch.sparse.check_sparse_tensor_invariants``. Places beyond the sizes are refused also without it.

    >>> import torchlike
    >>> with check_sparse_tensor_invariants():
    ...     torchlike.sparse_coo_tensor([[1, 0]], [1., 2.], (2,), is_coalesced=True)
    Traceback (most recent call last):
        ...
    RuntimeError: cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor
    """

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self._saved: bool | None = None

    @staticmethod
    def is_enabled() -> bool:
        """Return whether everything is checked."""
        return _checks.get()

    @staticmethod
    def enable() -> None:
        """Check everything from now on."""
        _checks.set(True)

    @staticmethod
    def disable() -> None:
        """Check places alone from now on."""
        _checks.set(False)

    def __enter__(self) -> Self:
        if self._saved is not None:
            raise RuntimeError(
                "This context manager instance is already activated. Use a different context manager instance"
            )
        self._saved = _checks.get()
        _checks.set(self.state)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._saved is not None
        _checks.set(self._saved)
        self._saved = None

    def __call__(self, function: Callable[P, T]) -> Callable[P, T]:
        """Return the function with the switch set while it runs."""

        @wraps(function)
        def run(*args: P.args, **kwargs: P.kwargs) -> T:
            with type(self)(self.state):
                return function(*args, **kwargs)

        return run


def invariants_are_checked() -> bool:
    """Return whether everything is checked."""
    return _checks.get()


_override: Final = Override()


@api_boundary
def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Sequence[int] | None = None,
    *,
    dtype: DType | None = None,
    device: DeviceLike = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
    layout: layout | None = None,
) -> Tensor:
    """Return a tensor of ``values`` in the places of ``indices``, a column each (source: ``torch.sparse_coo_tensor``).

    ``values`` may have dimensions behind the first, which are dense. Without ``size`` the sizes are as small as they can
    be; ``sparse_coo_tensor(size)`` has no elements. It has the history of ``values``, unless ``requires_grad`` makes it a
    leaf. Raises ``RuntimeError`` for components that do not fit, and for places beyond the sizes, unless
    ``check_invariants`` is False; where it is True, ``is_coalesced`` is checked as well.

    >>> import torchlike
    >>> torchlike.sparse_coo_tensor([[0, 1], [2, 0]], [3., 4.], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    if ENTERED:
        named: dict[str, Any] = {"dtype": dtype, "device": device, "pin_memory": pin_memory, "layout": layout}
        named |= {"requires_grad": requires_grad, "is_coalesced": is_coalesced, "check_invariants": check_invariants}
        args = tuple(each for each in (indices, values, size) if each is not None)
        given_false = ("check_invariants", "is_coalesced")
        kept = {name: each for name, each in named.items() if each is not None and (each or name in given_false)}
        found = _override.hook(args, kept)
        if found is not NotImplemented:
            return cast("Tensor", found)
    if layout not in (None, sparse_coo):
        raise RuntimeError(f"sparse_coo_tensor(): the layout is {sparse_coo}, not {layout}")
    if pin_memory:
        raise NotImplementedError("sparse_coo_tensor(): pin_memory=True is not supported")
    if values is None:
        return make_empty(indices if size is None else size, dtype, device).requires_grad_(requires_grad)
    for given, what in ((indices, "indices"), (values, "values")):
        if isinstance(given, str) or given is None:
            raise TypeError(f"sparse_coo_tensor(): invalid data type '{type(given).__name__}' of {what}")
        if isinstance(given, Tensor) and given.layout is not strided:
            raise RuntimeError(f"sparse_coo_tensor(): expected {what} to have strided layout, but got {given.layout}")
    elements = values if isinstance(values, Tensor) else as_tensor(values, dtype=dtype, device=device)
    elements = elements.to(device=device, dtype=dtype)
    if not elements.ndim:  # one number is the only element
        elements = elements.expand(1)
    places = indices if isinstance(indices, Tensor) else as_tensor(indices)
    places = places.detach().to(device=elements.device, dtype=ScalarType.Long)
    shape = _check_components(places, elements, size)
    whole = _checks.get() if check_invariants is None else check_invariants
    if check_invariants is not False and not places.is_meta:
        _check_places(places, shape, bool(whole and is_coalesced))
    made: Tensor = ops._sparse_coo_tensor_with_dims_and_tensors(places, elements, shape, bool(is_coalesced))
    return made.detach().requires_grad_() if requires_grad else made


_override.public = sparse_coo_tensor


def make_empty(size: Any, dtype: Any, device: Any) -> Tensor:
    """Return a tensor without elements, all of whose dimensions are sparse; raises as `sparse_coo_tensor` does."""
    if not isinstance(size, (list, tuple)) or not all(isinstance(each, int) for each in size):
        raise TypeError("sparse_coo_tensor(): without values, expected a size: a tuple of ints")
    if any(each < 0 for each in size):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(size)}: {list(size)}")
    check_count(size)
    values = as_tensor([], dtype=dtype or get_default_dtype(), device=device)
    indices = as_tensor([], dtype=ScalarType.Long, device=values.device).reshape(len(size), 0)
    made: Tensor = ops._sparse_coo_tensor_with_dims_and_tensors(indices, values, list(size), True)
    return made


def _check_components(places: Tensor, values: Tensor, size: Sequence[int] | None) -> list[int]:
    """Return the sizes; raises ``RuntimeError``, in torch's words, for components that do not fit."""
    rest = list(dc.shape(values)[1:])
    if size is not None and places.dim() and len(size) != dc.shape(places)[0] + len(rest):
        raise RuntimeError(
            "'len(size) == sparse_dim + dense_dim' is not satisfied: "
            f"len(size) = {len(size)}, sparse_dim = {dc.shape(places)[0]}, dense_dim = {len(rest)}"
        )
    if places.dim() != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(places.shape)}")
    rank, count = dc.shape(places)
    found = dc.shape(values)[0] if values.dim() else 1
    if found != count or not values.dim():
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {count}, nnz from values: {found}"
        )
    if size is None:
        lengths = [int(each) + 1 for each in places.max(1).values.tolist()] if count and rank else [0] * rank
        check_count([*lengths, *rest])
        return [*lengths, *rest]
    shape = [int(each) for each in size]
    if any(each < 0 for each in shape):
        raise RuntimeError(f"sparse_coo_tensor(): size {shape} has a negative dimension")
    if shape[rank:] != rest:
        raise RuntimeError(f"values has incorrect size, expected {[count, *shape[rank:]]}, got {list(values.shape)}")
    check_count(shape)
    return shape


def check_count(size: Sequence[int]) -> None:
    """Refuse sizes with more places than an int64 counts: places are numbered, row by row."""
    if prod(size) >= 1 << 63:
        raise RuntimeError(
            f"numel: integer multiplication overflow\nHint: the size {list(size)} has {prod(size)} places"
        )


def _check_places(places: Tensor, shape: list[int], is_coalesced: bool) -> None:
    """Refuse places beyond the sizes, and with ``is_coalesced`` those that are not sorted, or there twice."""
    rank, count = dc.shape(places)
    if not count or not rank or (frontends.is_pending(places) and not is_coalesced):
        return
    lowest, highest = places.amin(1).tolist(), places.amax(1).tolist()
    for dim, (low, high) in enumerate(zip(lowest, highest, strict=True)):
        if low < 0:
            raise RuntimeError(f"found negative index {low} for dim {dim}")
        if high >= shape[dim]:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {dim}, size is {shape[dim]} but found index {high}"
            )
    if is_coalesced:
        numbers = count_through(places, shape[:rank])
        if not (numbers[1:] > numbers[:-1]).all():
            raise RuntimeError("cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor")


@api_boundary
def to_sparse(
    self: Tensor,
    sparse_dim: int | None = None,
    *,
    layout: layout | None = None,
    blocksize: Any = None,
    dense_dim: Any = None,
) -> Tensor:
    """Return the elements that are not zero as a sparse tensor (source: ``torch.Tensor.to_sparse``).

    ``sparse_dim`` is the number of dimensions that the places have; those behind them are dense. ``layout`` is one of
    coordinates, or a compressed one, with ``blocksize`` where it has blocks and ``dense_dim`` dense dimensions. Raises
    ``RuntimeError`` for numbers that the tensor does not allow.

    >>> import torchlike
    >>> torchlike.tensor([0., 3., 0., 4.]).to_sparse()
    tensor(indices=tensor([[1, 3]]),
           values=tensor([3., 4.]),
           size=(4,), nnz=2, layout=torchlike.sparse_coo)
    """
    if sparse_dim is not None and (layout is not None or blocksize is not None or dense_dim is not None):
        raise RuntimeError("to_sparse(): sparse_dim is given alone, or layout, blocksize and dense_dim are")
    if layout not in (None, sparse_coo) or blocksize is not None or dense_dim is not None or is_compressed(self):
        if is_compressed(self) and sparse_dim not in (None, 2):
            raise RuntimeError(
                f"to_sparse: conversion from {self.layout} to {sparse_coo} for a sparse_dim other than 2 is not supported"
            )
        return to_layout(self, layout, blocksize, dense_dim)
    if is_sparse(self):
        if sparse_dim not in (None, record_of(self).sparse_dim):
            raise RuntimeError(
                "to_sparse: conversion from Sparse to Sparse with sparse_dim argument !=self.sparse_dim() is not supported"
            )
        return self
    if self.layout is not strided:
        raise RuntimeError(f"to_sparse(): expected a strided tensor, but got {self.layout}")
    rank = self.dim()
    wanted = rank if sparse_dim is None else sparse_dim
    if not 0 <= wanted <= rank:
        raise RuntimeError(f"dense_to_sparse: sparse_dim argument must be in [0,{rank}] range, but {wanted} is given")
    if not wanted and rank:
        raise RuntimeError(
            f"dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0\nHint: it is 1 to {rank}"
        )
    found: Tensor = ops.to_sparse(self, wanted)
    return found
