"""Compressed tensors of indices and values, and of tensors of other layouts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, cast

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType, get_default_dtype
from dispatch_core import frontends
from dispatch_core.tracebacks import api_boundary

from ...creation.factories import as_tensor
from ...overriding.handling import Override
from ...overriding.mode_stack import ENTERED
from ...tensors.tensor import Tensor
from ...values.argument_types import DeviceLike
from ...values.dtypes import dtype as DType  # noqa: N812  # torch's name is that of an argument
from ...values.layouts import layout, sparse_bsc, sparse_bsr, sparse_csr
from ..construction import invariants_are_checked
from ..operators import ops
from .checks import check_places, check_shapes, order_fault
from .operators import NAMES
from .tensor import LAYOUTS, wrap_compressed

_override: Final = Override()


@api_boundary
def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: DeviceLike = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """Return a tensor of compressed rows or columns, or of blocks of them (source: ``torch.sparse_compressed_tensor``).

    ``compressed_indices`` counts the elements before each row (CSR, BSR) or column (CSC, BSC), ``plain_indices`` has the
    columns or rows of ``values``, which may have dense dimensions behind, and all may have those of a batch in front.
    Without ``size`` the plain dimension is as small as it can be. The tensor has the history of ``values``, unless
    ``requires_grad`` makes it a leaf. Elements of a row that are not in order are sorted. Raises ``RuntimeError`` for
    components that do not fit, for places beyond the sizes or there twice, and with ``check_invariants`` for those not in
    order.

    >>> import torchlike
    >>> sparse_compressed_tensor([0, 1, 2], [2, 0], [3., 4.], (2, 3), layout=torchlike.sparse_csr).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    wanted = layout
    if ENTERED:
        named = {
            "dtype": dtype,
            "layout": layout,
            "device": device,
            "pin_memory": pin_memory,
            "requires_grad": requires_grad,
        }
        kept = {name: each for name, each in named.items() if each not in (None, False)}
        if check_invariants is not None:
            kept["check_invariants"] = check_invariants
        args = (compressed_indices, plain_indices, values, *(() if size is None else (size,)))
        found = _override.hook(args, kept)
        if found is not NotImplemented:
            return cast("Tensor", found)
    if wanted not in NAMES:
        raise RuntimeError(
            f"sparse_compressed_tensor(): expected a compressed layout, but got {wanted}\n"
            f"Hint: there are {', '.join(map(str, NAMES))}"
        )
    assert wanted is not None
    if pin_memory:
        raise NotImplementedError(f"sparse_{NAMES[wanted]}_tensor(): pin_memory=True is not supported")
    elements = values if isinstance(values, Tensor) else as_tensor(values, dtype=dtype, device=device)
    elements = elements.to(device=device, dtype=dtype)
    compressed, plain = (_read_indices(each, elements) for each in (compressed_indices, plain_indices))
    shape = _guess_size(compressed, plain, elements, wanted) if size is None else [int(each) for each in size]
    if any(each < 0 for each in shape):
        raise RuntimeError(f"sparse_{NAMES[wanted]}_tensor(): size {shape} has a negative dimension")
    check_shapes(compressed, plain, elements, shape, wanted)
    if not elements.is_meta and not any(map(frontends.is_pending, (compressed, plain))):
        start = compressed.dim()
        block = tuple(elements.shape[start : start + 2]) if wanted in (sparse_bsr, sparse_bsc) else None
        order = check_places(compressed, plain, shape, wanted, block)
        if order is not None:
            if check_invariants or (check_invariants is None and invariants_are_checked()):
                raise RuntimeError(order_fault(wanted))
            plain = plain.reshape(-1).index_select(0, order).reshape(plain.shape)
            flat = elements.reshape(-1, *elements.shape[start:])
            elements = flat.index_select(0, order).reshape(elements.shape)
    made: Tensor = ops._compressed_tensor(compressed, plain, elements, shape, NAMES[wanted])
    return made.detach().requires_grad_() if requires_grad else made


_override.public = sparse_compressed_tensor


def _read_indices(given: Any, elements: Tensor) -> Tensor:
    if isinstance(given, (str, type(None))):
        raise TypeError(f"sparse_compressed_tensor(): invalid data type '{type(given).__name__}' of indices")
    made = given if isinstance(given, Tensor) else as_tensor(given)
    if not made.numel() and dc.dtype(made) is not ScalarType.Int:  # of an empty list
        made = made.long()
    return made.detach().to(device=elements.device)


def _guess_size(compressed: Tensor, plain: Tensor, values: Tensor, wanted: layout) -> list[int]:
    """Return the sizes that indices and values give."""
    batch = max(compressed.dim() - 1, 0)
    is_blocked = wanted in (sparse_bsr, sparse_bsc)
    block = list(values.shape[batch + 1 : batch + 3]) if is_blocked else [1, 1]
    if len(block) < 2 or not compressed.dim():
        check_shapes(compressed, plain, values, [0, 0], wanted)
    lines = compressed.shape[-1] - 1
    reached = int(plain.max()) + 1 if plain.numel() else 0
    grid = [lines, reached] if wanted in (sparse_csr, sparse_bsr) else [reached, lines]
    dense = values.shape[batch + 1 + 2 * is_blocked :]
    return [*compressed.shape[:-1], *(one * two for one, two in zip(grid, block, strict=True)), *dense]


def _make_function(name: str) -> Callable[..., Tensor]:
    wanted = LAYOUTS[name]
    override = Override()
    by_rows = wanted in (sparse_csr, sparse_bsr)
    first, second = ("crow_indices", "col_indices") if by_rows else ("ccol_indices", "row_indices")

    def make(values: Any, size: Any, indices: tuple[Any, Any], options: dict[str, Any]) -> Tensor:
        if ENTERED:
            args = (*indices, values, *(() if size is None else (size,)))
            found = override.hook(args, options)
            if found is not NotImplemented:
                return cast("Tensor", found)
        if options.pop("layout", None) not in (None, wanted):
            raise RuntimeError(f"sparse_{name}_tensor(): the layout is {wanted}")
        return sparse_compressed_tensor(*indices, values, size, layout=wanted, **options)

    if by_rows:

        def function(crow_indices: Any, col_indices: Any, values: Any, size: Any = None, **options: Any) -> Tensor:
            return make(values, size, (crow_indices, col_indices), options)
    else:

        def function(ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, **options: Any) -> Tensor:  # type: ignore[misc]
            return make(values, size, (ccol_indices, row_indices), options)

    function.__name__ = function.__qualname__ = f"sparse_{name}_tensor"
    function.__doc__ = _TEXT.format(name=name, first=first, second=second, example=_EXAMPLES[name])
    made = api_boundary(function)
    override.public = made
    return made


_TEXT: Final = """Return a tensor in the layout ``sparse_{name}`` (source: ``torch.sparse_{name}_tensor``).

    The arguments are ``{first}``, ``{second}``, ``values`` and ``size``, then by name those of `sparse_compressed_tensor`,
    which raises ``RuntimeError`` for components that do not fit.

    >>> import torchlike
    >>> {example}
    """
_EXAMPLES: Final = {
    "csr": "sparse_csr_tensor([0, 1, 2], [1, 0], [3., 4.]).to_dense().tolist()\n    [[0.0, 3.0], [4.0, 0.0]]",
    "csc": "sparse_csc_tensor([0, 1, 2], [1, 0], [3., 4.]).to_dense().tolist()\n    [[0.0, 4.0], [3.0, 0.0]]",
    "bsr": "sparse_bsr_tensor([0, 1], [1], [[[3., 4.]]]).to_dense().tolist()\n    [[0.0, 0.0, 3.0, 4.0]]",
    "bsc": "sparse_bsc_tensor([0, 0, 1], [0], [[[3., 4.]]]).to_dense().tolist()\n    [[0.0, 0.0, 3.0, 4.0]]",
}
sparse_csr_tensor: Final = _make_function("csr")
sparse_csc_tensor: Final = _make_function("csc")
sparse_bsr_tensor: Final = _make_function("bsr")
sparse_bsc_tensor: Final = _make_function("bsc")


def make_empty(wanted: layout, size: Sequence[int], dtype: Any, device: Any) -> Tensor:
    """Return a tensor of compressed rows or columns without elements; raises ``RuntimeError`` for blocks."""
    sizes = [int(each) for each in size]
    if wanted in (sparse_bsr, sparse_bsc):
        raise RuntimeError(f"expected a compressed layout without blocks, but got {wanted}")
    if len(sizes) < 2 or any(each < 0 for each in sizes):
        raise RuntimeError(
            f"torch.empty: Only batched sparse compressed (non-block) tensors are supported, but got size {sizes}"
        )
    values = as_tensor([], dtype=dtype or get_default_dtype(), device=device)
    lines = sizes[-2] if wanted is sparse_csr else sizes[-1]
    zeros = as_tensor([], dtype=ScalarType.Long, device=values.device).new_zeros((*sizes[:-2], lines + 1))
    batch = (*sizes[:-2], 0)
    return wrap_compressed(zeros, zeros.new_zeros(batch), values.reshape(batch), sizes, wanted)
