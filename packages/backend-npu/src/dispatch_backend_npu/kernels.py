"""Every kernel of the backend by operator name with overload: rows of the table, and those that need more than a row.

Registering them must cost next to nothing where no NPU is used. So a kernel is a function whose code is generated, or whose
module is imported, at its first call.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

import dispatch_core as dc
from dispatch_core.calls import LazyFunction

from .aclnn import table
from .aclnn.table import OPERATORS
from .ops import view

Kernel = Callable[..., Any]


def _make_lazy(name: str, make: Callable[[], Kernel], stands_for: Callable[[], Any]) -> Kernel:
    """Make a kernel that becomes the function of ``make`` at its first call."""
    kernel = LazyFunction(make, name=name).function
    kernel.__module__ = __name__
    return dc.KernelTraits(stands_for=stands_for)(kernel)


def _make_row_kernel(name: str) -> Kernel:
    """Make the kernel of a row, whose code is generated."""

    def make() -> Kernel:
        from .aclnn.row_kernels import operator_row  # imports everything that calls need

        return operator_row(name).make_kernel()

    return _make_lazy(name, make, lambda: _describe_row(name))


def _describe_row(name: str) -> tuple[str, str]:
    """Return the text of a row, and its file and line, for explanations."""
    lines = linecache.getlines(table.__file__)
    line = next((number for number, text in enumerate(lines, 1) if text.split(None, 1)[:1] == [name]), 1)
    return f"{table.__name__}.OPERATORS[{name!r}]: {OPERATORS[name][0]}", f"{table.__file__}:{line}"


def _make_module_kernel(name: str, module: str, table: str = "KERNELS") -> Kernel:
    """Make the kernel that a module's table has under a name."""

    def find() -> Kernel:
        kernel: Kernel = getattr(import_module(module, __package__), table)[name]
        return kernel

    def make() -> Kernel:
        from .aclnn.composition import composed_where_refused

        return composed_where_refused(name, find())

    return _make_lazy(name, make if table == "KERNELS" else find, find)


#: Module → the overloads of its kernels.
BY_HAND: Final = {
    ".creation": """
        empty.memory_format empty_strided empty_like new_empty new_empty_strided zeros zeros_like new_zeros
        ones ones_like new_ones full full_like new_full scalar_tensor arange arange.start arange.start_step
        linspace eye eye.m
    """,
    ".ops.copy": """
        clone _to_copy _local_scalar_dense
    """,
    ".ops.special": """
        clamp clamp.Tensor
    """,
    ".ops.reduction": """
        argmax argmin var.correction std.correction var_mean.correction aminmax any.dims all.dims
    """,
    ".ops.pooling": """
        max_pool2d_with_indices max_pool2d_with_indices_backward max_pool3d_with_indices
        max_pool3d_with_indices_backward adaptive_max_pool3d adaptive_max_pool2d_backward
        adaptive_max_pool3d_backward
    """,
    ".ops.sampling": """
        grid_sampler_2d_backward grid_sampler_3d_backward
    """,
    ".ops.losses": """
        nll_loss_forward nll_loss_backward
    """,
    ".ops.random": """
        uniform_ normal_ exponential_ bernoulli_.float bernoulli.p random_ random_.to random_.from randperm
        randperm.generator
    """,
    ".ops.dropout": """
        native_dropout native_dropout_backward
    """,
    ".ops.normalization": """
        _fused_rms_norm_backward
    """,
    ".ops.attention": """
        _scaled_dot_product_efficient_attention _scaled_dot_product_efficient_attention_backward
    """,
    ".ops.batch_norm": """
        _native_batch_norm_legit.no_stats _native_batch_norm_legit_functional native_batch_norm_backward
    """,
    ".ops.selection": """
        nonzero masked_select masked_scatter_
    """,
    ".ops.counting": """
        _unique2 unique_consecutive unique_dim bincount one_hot repeat_interleave.Tensor
    """,
    ".ops.indexing": """
        index.Tensor index_put_ masked_fill.Scalar masked_fill.Tensor masked_fill_.Scalar masked_fill_.Tensor
        index_fill_.int_Scalar index_fill_.int_Tensor embedding_dense_backward cat
    """,
}

KERNELS: Final[dict[str, Kernel]] = (
    {name: _make_row_kernel(name) for name in OPERATORS}
    | {name: _make_module_kernel(name, module) for module, names in BY_HAND.items() for name in names.split()}
    | view.KERNELS
    # The kernel of the row, which plans use, but for arrays of two devices.
    | {"copy_": dc.KernelTraits(crosses_devices=True)(_make_module_kernel("copy_", ".ops.copy"))}
)
"""Every kernel of the ``aten`` namespace. The host computes the operators that neither are here nor are composed."""

PRIMS: Final[dict[str, Kernel]] = {
    name: _make_module_kernel(name, module, "PRIMS")
    for name, module in (("device_get", ".ops.copy"), ("device_put", ".ops.copy"), ("adam_", ".ops.optimizers"))
}
"""The kernels of the ``prims`` namespace."""

#: Composite → the operators that it calls, whose changes send its calls that way.
_PARTS: Final = {
    "mish_backward": "softplus tanh sigmoid mul.Tensor rsub.Scalar add.Tensor",
    "isclose": """
        eq.Tensor logical_or logical_and isnan isfinite add.Scalar add.Tensor mul.Scalar mul.Tensor abs sub.Tensor le.Tensor
    """,
    "nansum": "isnan masked_fill.Scalar sum.dim_IntList",
    "trace": "diagonal sum",
    "renorm": """
        linalg_vector_norm add.Scalar add.Tensor reciprocal mul.Scalar gt.Scalar where.ScalarOther where.self new_full
        mul.Tensor contiguous
    """,
    "repeat_interleave.self_Tensor": "flatten.using_ints reshape view expand index_select repeat_interleave.Tensor",
}

SHORT_WAYS: Final[dict[str, tuple[Kernel, dict[str, Any]]]] = {
    name: (
        _make_module_kernel(name, ".ops.short_ways", "SHORT_WAYS"),
        {"parts": parts.split(), "autograd": name == "isclose"},
    )
    for name, parts in _PARTS.items()
}
"""Composite → the function that serves its plain calls, and the options of ``Library.short_way``."""
