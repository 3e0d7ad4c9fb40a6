"""What must hold of the components of a compressed tensor, in torch's words."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType

from ...creation.factories import FACTORIES
from ...tensors.tensor import Tensor
from ...values.layouts import layout, strided
from .tensor import LAYOUTS


def check_shapes(compressed: Tensor, plain: Tensor, values: Tensor, size: Sequence[int], wanted: layout) -> None:
    """Raise ``RuntimeError`` for components whose sizes, dtypes or layouts do not fit; reads no element."""
    is_by_rows, is_blocked = _describe(wanted)
    name, other = ("crow_indices", "col_indices") if is_by_rows else ("ccol_indices", "row_indices")
    for each, what in ((compressed, name), (plain, other), (values, "values")):
        if each.layout is not strided:
            raise RuntimeError(f"expected {what} to be a strided tensor but got {each.layout} tensor")
    inner = 2 if is_blocked else 0
    batch = compressed.dim() - 1
    dense = values.dim() - batch - inner - 1
    _require(compressed.dim() >= 1, f"{name} must have dimensionality >= 1 but got {compressed.dim()}")
    _require(
        compressed.dim() == plain.dim(),
        f"number of dimensions of {name} and {other} must be the same but got {compressed.dim()} and {plain.dim()},"
        " respectively",
    )
    _require(
        dense >= 0,
        f"values must have dimensionality > sum of batch and block dimensionalities (={batch} + {inner}) but got"
        f" {values.dim()}",
    )
    _require(
        len(size) == batch + 2 + dense,
        "tensor dimensionality must be sum of batch, base, and dense dimensionalities"
        f" (={batch} + 2 + {dense}) but got {len(size)}",
    )
    shapes = [tuple(dc.shape(each)) for each in (compressed, plain, values)]
    _require(
        shapes[0][:batch] == shapes[1][:batch] == shapes[2][:batch] == tuple(size[:batch]),
        f"all batch dimensions of {name} (={list(shapes[0][:batch])}), {other} (={list(shapes[1][:batch])}), values"
        f" (={list(shapes[2][:batch])}), and tensor (={list(size[:batch])}) must be equal to tensor batch dimensions",
    )
    block = shapes[2][batch + 1 : batch + 3] if is_blocked else (1, 1)
    _require(all(block), f"blocksize must be positive, but got {list(block)}")
    for dim, step in enumerate(block):
        _require(
            size[batch + dim] % step == 0,
            f"tensor shape[{batch + dim}] (={size[batch + dim]}) must be divisible with blocksize[{dim}] (={step}) as"
            " defined by values shape",
        )
    lines = size[batch + (not is_by_rows)] // block[not is_by_rows]
    _require(
        shapes[0][-1] == lines + 1,
        f"{name}.shape[-1] must be equal to the number of {'rows' if is_by_rows else 'columns'} + 1 (={lines + 1}), but got"
        f" {shapes[0][-1]}",
    )
    _require(
        shapes[1][-1] == shapes[2][batch],
        f"{other}.shape[-1] must be equal to nnz (={shapes[2][batch]}) as defined by values.shape[{batch}], but got"
        f" {shapes[1][-1]}",
    )
    rest = shapes[2][batch + 1 + inner :]
    _require(
        rest == tuple(size[batch + 2 :]),
        f"values.shape[{batch + 1 + inner}:] (={list(rest)}) must be equal to the dense dimensions of size,"
        f" {list(size[batch + 2 :])}",
    )
    kinds = dc.dtype(compressed), dc.dtype(plain)
    _require(
        kinds[0] is kinds[1],
        f"{name} and {other} must have the same dtype, bot got {kinds[0].name} and {kinds[1].name}",
    )
    _require(
        kinds[0] in (ScalarType.Int, ScalarType.Long),
        f"{name} and {other} must be an int32 or int64 type, but got {kinds[0].name}",
    )


def check_places(compressed: Tensor, plain: Tensor, size: Sequence[int], wanted: layout, block: Any) -> Tensor | None:
    """Return the elements' order by their places, or None where they are in order.

    Raises ``RuntimeError`` for indices beyond the sizes, and for a place that is there twice.
    """
    is_by_rows, _ = _describe(wanted)
    name, other = ("crow_indices", "col_indices") if is_by_rows else ("ccol_indices", "row_indices")
    batch, count = compressed.dim() - 1, dc.shape(plain)[-1]
    sizes = [each // step for each, step in zip(size[batch : batch + 2], block or (1, 1), strict=True)]
    wide = sizes[1 if is_by_rows else 0]
    _require_all(compressed[..., 0] == 0, f"`{name}[..., 0] == 0` is not satisfied.")
    _require_all(compressed[..., -1] == count, f"`{name}[..., -1] == nnz` is not satisfied.")
    steps = compressed.diff()
    dim = "ncols" if is_by_rows else "nrows"
    _require_all(
        (steps >= 0) & (steps <= wide),
        f"`0 <= {name}[..., 1:] - {name}[..., :-1] <= {dim}` is not satisfied.",
    )
    _require_all((plain >= 0) & (plain < wide), f"`0 <= {other} < {dim}` is not satisfied.")
    if count <= 1:
        return None
    total, lines = prod(size[:batch]), dc.shape(steps)[-1]
    numbers = FACTORIES["arange"](total * lines, device=plain.device).repeat_interleave(steps.reshape(-1).long())
    places = numbers * wide + plain.reshape(-1)
    if bool((places[1:] > places[:-1]).all()):
        return None
    order: Tensor = places.argsort(stable=True)
    ordered = places.index_select(0, order)
    _require_all(
        ordered[1:] > ordered[:-1],
        f"{order_fault(wanted)}\nHint: a place is there twice; to_sparse_coo() of coordinates sums such elements",
    )
    return order


def order_fault(wanted: layout) -> str:
    """Return torch's text for elements that are not in order."""
    is_by_rows, _ = _describe(wanted)
    name, other = ("crow_indices", "col_indices") if is_by_rows else ("ccol_indices", "row_indices")
    return (
        f"`{other}[..., {name}[..., i - 1]:{name}[..., i]] for all i = 1, ..., {'nrows' if is_by_rows else 'ncols'} are"
        " sorted and distinct along the last dimension values` is not satisfied."
    )


def _describe(wanted: layout) -> tuple[bool, bool]:
    return wanted in (LAYOUTS["csr"], LAYOUTS["bsr"]), wanted in (LAYOUTS["bsr"], LAYOUTS["bsc"])


def _require(is_right: bool, text: str) -> None:
    if not is_right:
        raise RuntimeError(text)


def _require_all(are_right: Tensor, text: str) -> None:
    _require(bool(are_right.all()), text)
