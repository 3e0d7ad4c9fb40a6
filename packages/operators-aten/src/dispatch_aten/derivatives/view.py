"""Derivative formulas of views; see ``dispatch_aten.derivatives``."""

from __future__ import annotations

from typing import Final

FORMULAS: Final = {
    "_unsafe_view": {"self": "reshape(grad, self_sizes)"},
    "alias": {"self": "grad"},
    "as_strided": {
        "self": (
            "as_strided_gradient(grad, self_sizes, self_strides, self_storage_offset, size, stride, storage_offset)"
        )
    },
    "diagonal": {"self": "diagonal_backward(grad, self_sizes, offset, dim1, dim2)"},
    "diagonal_backward": {"grad_output": "diagonal(grad, offset, dim1, dim2)"},
    "expand": {"self": "grad"},
    "permute": {"self": "permute(grad, inverse_permutation(dims))"},
    "select.int": {"self": "select_backward(grad, self_sizes, dim, index)"},
    "select_backward": {"grad_output": "select(grad, dim, index)"},
    "slice.Tensor": {"self": "slice_gradient(grad, self_sizes, dim, start, end, step)"},
    "slice_backward": {"grad_output": "slice(grad, dim, start, end, step)"},
    "split.Tensor": {"self": "split_gradient(grads, self_sizes, split_size, dim)"},
    "split_with_sizes": {"self": "split_gradient(grads, self_sizes, split_sizes, dim)"},
    "squeeze": {"self": "reshape(grad, self_sizes)"},
    "squeeze.dim": {"self": "reshape(grad, self_sizes)"},
    "squeeze.dims": {"self": "reshape(grad, self_sizes)"},
    "t": {"self": "t(grad)"},
    "transpose.int": {"self": "transpose(grad, dim0, dim1)"},
    "unbind.int": {"self": "unbind_gradient(grads, dim)"},
    "unsqueeze": {"self": "squeeze(grad, dim)"},
    "unfold": {"self": "unfold_backward(grad, self_sizes, dimension, size, step)"},
    "unfold_backward": {"grad_in": "unfold(grad, dim, size, step)"},
    "diag_embed": {"self": "diagonal(grad, offset, dim1, dim2)"},
    "view": {"self": "reshape(grad, self_sizes)"},
}

NOT_DIFFERENTIABLE: Final = frozenset({"view.dtype"})
