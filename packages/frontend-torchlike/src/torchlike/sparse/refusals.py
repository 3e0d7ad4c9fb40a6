"""Calls that sparse tensors do not answer, in torch's words where it has some."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import dispatch_core as dc
from dispatch_core.keys import LAYOUTS

from ..tensors.tensor import Tensor
from .tensor import is_sparse

_SUM = "add(sparse, dense) is not supported. Use add(dense, sparse) instead."
_HINT = "to_dense() makes a strided tensor, to_sparse() a sparse one"


def refuse_operator(op: Any, *values: Any) -> NoReturn:
    """Raise ``NoKernelError`` for an operator that has no rule."""
    every = [each for value in values for each in (value if isinstance(value, (list, tuple)) else [value])]
    found = next(each for each in every if getattr(each, "_dispatch_mask", 0) & LAYOUTS)
    raise dc.NoKernelError(
        f"{op.name}: no kernel for tensors of layout {found.layout}, here of sizes {tuple(found.shape)}",
        hint="x.to_dense() is a strided tensor, and"
        f" {'x.coalesce().values()' if is_sparse(found) else 'x.values()'} has the elements that are there",
    )


def refuse_number(op: Any, *values: Any) -> NoReturn:
    """Raise ``RuntimeError`` for the sum with a number, which would be dense."""
    _raise(_SUM)


def read_layouts(values: Sequence[Any]) -> str:
    """Return a letter for each tensor among arguments, as `mixed_layouts` has them."""
    tensors = [each for each in values if isinstance(each, Tensor)]
    numbers = len(tensors) == 2  # of an element-wise operator, where no dimensions represent a number
    return "".join(["s" if is_sparse(each) else "0" if numbers and not dc.shape(each) else "d" for each in tensors])


def refuse_layouts(op: Any, layouts: str, values: Sequence[Any]) -> NoReturn:
    """Raise ``RuntimeError`` for layouts that torch does not compute with."""
    packet = op.name.removeprefix("aten::").partition(".")[0].removesuffix("_")
    tensors = [each for each in values if isinstance(each, Tensor)]
    if packet in ("add", "sub", "mul"):
        if layouts != "0s":
            _raise(_SUM)
        _raise(
            "add: expected 'self' and 'other' to have same size, but self has size [] while other has size"
            f" {list(tensors[1].shape)} (FYI: dense-sparse addition does not currently support broadcasting)"
        )
    if packet in ("div", "floor_divide"):
        kind = "division" if packet == "div" else "floor division"
        shape = list(tensors[1].shape)
        _raise(f"Sparse {kind} requires a scalar or zero-dim dense tensor divisor (got shape {shape} for divisor)")
    if packet == "copy":
        _raise(
            f"copy_() between dense and sparse Tensors is not implemented! Found self type = {tensors[0].layout} and src"
            f" type = {tensors[1].layout}"
        )
    if packet == "addmm":
        names = ["Sparse" if each == "s" else "Strided" for each in layouts]
        if layouts[0] == "s":
            _raise("addmm_sparse_dense: expected strided result tensor, got tensor with layout Sparse")
        _raise(
            "addmm_sparse_dense: expected either 'mat1' to have sparse layout and 'mat2' to have strided layout, got 'mat1'"
            f" with layout {names[1]} and 'mat2' with layout {names[2]}"
        )
    refuse_operator(op, *values)


def _raise(text: str) -> NoReturn:
    raise RuntimeError(f"{text}\nHint: {_HINT}")
