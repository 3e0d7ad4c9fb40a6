"""Activations that are no element-wise operators of one result, and the short ways of those that are composites."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from dispatch_aten.shapes import wrap_dim

from ...arrays import Array
from ...kernel_table import Kernel, KernelTable
from ...output_specs import OutputSpec, half_as_float
from ..pointwise import numpy_formulas as f
from ..support.constants import number
from ..support.fast_paths import attempt, make_formula
from ..support.rule_kernels import cast, make_kernel
from .losses import decline

KERNELS: Final = KernelTable()


def _log_sigmoid(a: Array) -> tuple[Any, Any]:
    """Return log(1 / (1 + exp(-a))), and exp(-|a|), which its gradient needs."""
    fading = np.exp(-np.absolute(a))
    return np.minimum(a, number(0, a)) - np.log1p(fading), fading


def _glu(a: Array, dim: int) -> Any:
    size, before = a.shape[dim] // 2, (slice(None),) * dim
    return a[(*before, slice(size))] * f.sigmoid(a[(*before, slice(size, None))])


def _log_sigmoid_forward(specs: Any, self: Array) -> Any:
    return _log_sigmoid(cast(self, half_as_float(self.dtype)))


def _glu_of_any(spec: OutputSpec, self: Array, dim: int = -1) -> Any:
    return _glu(cast(self, half_as_float(self.dtype)), wrap_dim(dim, self.ndim))


_PLAIN: Final = "self.dtype in NUMBERS and self.flags.c_contiguous"
KERNELS["log_sigmoid_forward"] = attempt(
    "self",
    _PLAIN,
    "run(compute, self)",
    make_kernel("log_sigmoid_forward", _log_sigmoid_forward),
    compute=_log_sigmoid,
)
KERNELS["glu"] = make_kernel("glu", _glu_of_any)


def _log_sigmoid_alone(self: Array) -> Any:
    return KERNELS["log_sigmoid_forward"](self)[0]


#: Operator → its short way, and the options of ``Library.short_way``.
SHORT_WAYS: Final[dict[str, tuple[Kernel, dict[str, Any]]]] = {
    "log_sigmoid": (_log_sigmoid_alone, {"parts": ("log_sigmoid_forward",)}),
    "mish_backward": (
        make_formula(f.mish_backward, decline, 2),
        {"parts": ("softplus", "tanh", "sigmoid", "mul.Tensor", "rsub.Scalar", "add.Tensor")},
    ),
}
