"""Products of matrices and vectors: ``np.matmul``, which takes BLAS for floats and loops for integers."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ...arrays import Array
from ...fp_errors import ignore_fp_errors
from ...kernel_table import Kernel, KernelTable
from ...output_specs import OutputSpec, half_as_float, infer_output
from ..support.compiled_kernels import native
from ..support.constants import number
from ..support.fast_paths import attempt
from ..support.rule_kernels import cast, check_overlap, make_kernel, write

KERNELS: Final = KernelTable()

_DIRECT: Final = frozenset(np.dtype(char) for char in "fdFDbhilBHIL")


_BLAS: Final = frozenset(map(np.dtype, "fd"))


def _product(spec: OutputSpec, a: Array, b: Array) -> Any:
    dtype = half_as_float(spec.array_dtype)
    return np.matmul(cast(a, dtype), cast(b, dtype))


#: The operands of mm and bmm that go to ``np.matmul`` at once.
_FIT: Final = (
    "(dtype := self.dtype) is mat2.dtype and dtype in dtypes and self.ndim == mat2.ndim == ndim"
    " and (left := self.shape)[-1] == (right := mat2.shape)[-2] and left[:-2] == right[:-2] and left[-2] and right[-1]"
)


def _direct(name: str, ndim: int) -> Kernel:
    """Make mm or bmm: at once where the operands fit, by the rule where they do not."""
    call = "run(matmul, self, mat2)"
    general = make_kernel(name, _product)
    return attempt("self, mat2", _FIT, call, general, matmul=np.matmul, dtypes=_DIRECT, ndim=ndim)


#: Operands that ``ndarray.dot`` passes to the same function of BLAS as ``np.matmul`` does, in half of its time.
_DENSE: Final = "dtype in blas and {0}.flags.forc and {1}.flags.forc"


def _by_dot(when: str, left: str, right: str, general: Kernel) -> Kernel:
    """Make a product of two arrays of one dtype: at once where both are dense."""
    test = f"(dtype := {left}.dtype) is {right}.dtype and {_DENSE.format(left, right)} and {when}"
    return attempt(f"{left}, {right}", test, f"run(dot, {left}, {right})", general, dot=np.ndarray.dot, blas=_BLAS)


def _add_product(spec: OutputSpec, bias: Array, a: Array, b: Array, *args: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    """Return ``beta * bias + alpha * (a @ b)``; a ``beta`` of 0 leaves nans of ``bias`` out, as in BLAS."""
    dtype = half_as_float(spec.array_dtype)
    product = np.matmul(cast(a, dtype), cast(b, dtype))
    if alpha != 1:
        product *= number(alpha, product)
    if beta == 0:
        return product
    bias = cast(bias, dtype)
    product += bias if beta == 1 else number(beta, bias) * bias
    return product


#: The operands of addmm that go to ``np.matmul`` at once: a plain bias, as in a linear layer, or one of the result's shape.
_IS_LINEAR: Final = (
    "(dtype := self.dtype) is mat1.dtype and dtype is mat2.dtype and dtype in dtypes and mat1.ndim == mat2.ndim == 2"
    " and alpha == beta == 1 and mat1.shape[1] == mat2.shape[0] and mat1.size and mat2.size"
    " and (self.shape == mat2.shape[1:] or (self.shape == (mat1.shape[0], mat2.shape[1]) and self.flags.c_contiguous))"
)
#: The same of baddbmm.
_ARE_STACKS: Final = (
    "(dtype := self.dtype) is batch1.dtype and dtype is batch2.dtype and dtype in dtypes"
    " and batch1.ndim == batch2.ndim == 3 and alpha == beta == 1 and batch1.size and batch2.size"
    " and batch1.shape[0] == batch2.shape[0] and batch1.shape[2] == batch2.shape[1] and self.flags.c_contiguous"
    " and self.shape == (*batch1.shape[:2], batch2.shape[2])"
)


def product_plus(a: Array, b: Array, bias: Array) -> Any:
    """Add a bias to a product: to few elements in new memory, which takes less time to begin with."""
    product = a.dot(b) if a.flags.forc and b.flags.forc and a.ndim == 2 else np.matmul(a, b)
    return product + bias if product.size <= _FEW else np.add(product, bias, product)


_FEW: Final = 1024


def _inplace(name: str) -> Kernel:
    def kernel(self: Array, a: Array, b: Array, *, beta: Any = 1, alpha: Any = 1) -> Array:
        check_overlap(self, a, b)
        spec = infer_output(name[:-1], self, a, b, beta=beta, alpha=alpha)
        infer_output(name, self, a, b, beta=beta, alpha=alpha)
        return write(self, _add_product(spec, self, a, b, beta=beta, alpha=alpha))

    return ignore_fp_errors(kernel)


KERNELS["mm"] = native(
    "mm",
    _by_dot(
        "self.ndim == mat2.ndim == 2 and self.shape[1] == mat2.shape[0] and self.size and mat2.size",
        "self",
        "mat2",
        _direct("mm", 2),
    ),
    None,
    _BLAS,
)
KERNELS["bmm"] = _direct("bmm", 3)
KERNELS["mv"] = native(
    "mv",
    _by_dot(
        "self.ndim == 2 and vec.ndim == 1 and self.shape[1] == vec.size and self.size",
        "self",
        "vec",
        make_kernel("mv", _product),
    ),
    None,
    _BLAS,
)
KERNELS["dot"] = _by_dot(
    "self.ndim == tensor.ndim == 1 and self.size == tensor.size", "self", "tensor", make_kernel("dot", _product)
)
KERNELS["addmm"] = native(
    "addmm",
    attempt(
        "self, mat1, mat2, *, beta=1, alpha=1",
        _IS_LINEAR,
        "run(product_plus, mat1, mat2, self)",
        make_kernel("addmm", _add_product),
        product_plus=product_plus,
        dtypes=_BLAS,
    ),
    np.add,
    _BLAS,
)
KERNELS["baddbmm"] = attempt(
    "self, batch1, batch2, *, beta=1, alpha=1",
    _ARE_STACKS,
    "run(product_plus, batch1, batch2, self)",
    make_kernel("baddbmm", _add_product),
    product_plus=product_plus,
    dtypes=_BLAS,
)
KERNELS["addmm_"] = _inplace("addmm_")
KERNELS["baddbmm_"] = _inplace("baddbmm_")
