"""torch's functions with an underscore that libraries call, and its older names of products of sparse matrices."""

from __future__ import annotations

from typing import Any

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType

from ..creation.factories import FACTORIES, tensor
from ..tensors.arguments import check_tensor
from ..tensors.tensor import Tensor
from .operator_functions import FUNCTIONS

__all__ = ["dsmm", "is_inference", "spmm"]


def spmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Return the product of two matrices of which one or both may be sparse (source: ``torch.spmm``).

    >>> import torchlike
    >>> spmm(torchlike.eye(2).to_sparse(), torchlike.ones(2, 1))
    tensor([[1.],
            [1.]])
    """
    found: Tensor = FUNCTIONS["mm"](input, mat2)
    return found


def dsmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Return the product of two matrices of which one or both may be sparse (source: ``torch.dsmm``)."""
    return spmm(input, mat2)


def is_inference(input: Tensor) -> bool:
    """Return False: a tensor that was made in inference mode can be used everywhere here (source: ``torch.is_inference``).

    >>> import torchlike
    >>> with torchlike.inference_mode():
    ...     x = torchlike.ones(2)
    >>> is_inference(x), x.requires_grad_().requires_grad
    (False, True)
    """
    check_tensor(input, "is_inference")
    return False


def _standard_gamma(input: Tensor, generator: Any = None) -> Tensor:
    """Draw from gamma distributions with these shapes and rate 1."""
    return dc.ops.aten._standard_gamma.default(input, generator)


def _sample_dirichlet(input: Tensor, generator: Any = None) -> Tensor:
    """Draw from Dirichlet distributions with these concentrations."""
    return dc.ops.aten._sample_dirichlet.default(input, generator)


def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    """Return the gradient of softmax by its argument, from those of its result."""
    return dc.ops.aten._softmax_backward_data.default(grad_output, output, dim, input_dtype)


def _fake_quantize_learnable_per_tensor_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int, grad_factor: float = 1.0
) -> Tensor:
    """Round to the numbers that integers represent, by a scale and a zero point that have gradients, too."""
    return dc.ops.aten._fake_quantize_learnable_per_tensor_affine.default(
        input, scale, zero_point, quant_min, quant_max, grad_factor
    )


def _fake_quantize_learnable_per_channel_affine(
    input: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    axis: int,
    quant_min: int,
    quant_max: int,
    grad_factor: float = 1.0,
) -> Tensor:
    """Round to the numbers that integers represent, by scales and zero points of channels that have gradients, too."""
    return dc.ops.aten._fake_quantize_learnable_per_channel_affine.default(
        input, scale, zero_point, axis, quant_min, quant_max, grad_factor
    )


def _shape_as_tensor(input: Tensor) -> Tensor:
    """Return the shape as a tensor of integers.

    >>> import torchlike
    >>> _shape_as_tensor(torchlike.ones(2, 3))
    tensor([2, 3])
    """
    return tensor([*input.shape], dtype=ScalarType.Long)


def _assert_async(input: Tensor, assert_msg: str | None = None) -> None:
    """Raise ``RuntimeError`` where a tensor of one element is zero.

    >>> import torchlike
    >>> _assert_async(torchlike.tensor(True))
    """
    if not bool(input):
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


def _convert_indices_from_coo_to_csr(input: Tensor, size: int, *, out_int32: bool = False) -> Tensor:
    """Return the ends of rows from the sorted row of each element.

    >>> import torchlike
    >>> _convert_indices_from_coo_to_csr(torchlike.tensor([0, 0, 2]), 4)
    tensor([0, 2, 2, 3, 3])
    """
    rows = FACTORIES["arange"](size + 1, dtype=input.dtype, device=input.device)
    found: Tensor = FUNCTIONS["searchsorted"](input, rows)
    return found.to(ScalarType.Int if out_int32 else ScalarType.Long)


def _convert_indices_from_csr_to_coo(
    crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False, transpose: bool = False
) -> Tensor:
    """Return the row and the column of each element from the ends of rows.

    >>> import torchlike
    >>> _convert_indices_from_csr_to_coo(torchlike.tensor([0, 2, 2, 3]), torchlike.tensor([1, 2, 0]))
    tensor([[0, 0, 2],
            [1, 2, 0]])
    """
    numbers = FACTORIES["arange"](crow_indices.shape[0] - 1, dtype=ScalarType.Long, device=crow_indices.device)
    rows = FUNCTIONS["repeat_interleave"](numbers, crow_indices[1:] - crow_indices[:-1])
    pair = [col_indices, rows] if transpose else [rows, col_indices]
    dtype = ScalarType.Int if out_int32 else ScalarType.Long
    found: Tensor = FUNCTIONS["stack"]([each.to(dtype) for each in pair])
    return found
