"""Shape rules of products of matrices and vectors. Their results are row-major."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from dispatch_aten.errors import DtypeError, OperatorError, ShapeError
from dispatch_aten.shapes.elementwise import elementwise
from dispatch_aten.shapes.layout import broadcast_shapes
from dispatch_aten.shapes.meta import TensorMeta, contiguous
from dispatch_aten.shapes.own_rules import OWN_RULES
from dispatch_aten.shapes.refusals import c_name, refuse_kinds

if TYPE_CHECKING:
    pass


def _other_products(meta: TensorMeta) -> str:
    return f"it has shape {list(meta.shape)}; matmul, or @, multiplies tensors of any number of dimensions"


def _check_matrices(self: TensorMeta, mat2: TensorMeta) -> None:
    for name, meta in (("self", self), ("mat2", mat2)):
        if meta.ndim != 2:
            raise ShapeError(f"{name} must be a matrix", argument=name, hint=_other_products(meta))
    if self.shape[1] != mat2.shape[0]:
        rows, inner = self.shape
        raise ShapeError(
            f"mat1 and mat2 shapes cannot be multiplied ({rows}x{inner} and {mat2.shape[0]}x{mat2.shape[1]})",
            argument="mat2",
        )


def _mm(self: TensorMeta, mat2: TensorMeta) -> TensorMeta:
    _check_matrices(self, mat2)
    if self.dtype != mat2.dtype:
        raise DtypeError(
            f"expected m1 and m2 to have the same dtype, but got: {c_name(self.dtype)} != {c_name(mat2.dtype)}",
            argument="mat2",
        )
    result = contiguous((self.shape[0], mat2.shape[1]), self.dtype)
    _check_not_bool("addmm_impl_cpu_", self, result.numel * self.shape[1])
    return result


def _bmm(self: TensorMeta, mat2: TensorMeta) -> TensorMeta:
    for name, batch in (("batch1", self), ("batch2", mat2)):
        if batch.ndim != 3:
            argument = "self" if batch is self else "mat2"
            raise ShapeError(f"{name} must be a 3D tensor", argument=argument, hint=_other_products(batch))
    count, rows, inner = self.shape
    if mat2.shape[:2] != (count, inner):
        raise ShapeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{count}, {inner}] but got: "
            f"[{mat2.shape[0]}, {mat2.shape[1]}].",
            argument="mat2",
        )
    result = contiguous((count, rows, mat2.shape[2]), self.dtype)
    _check_not_bool("bmm", self, result.numel * inner)
    if self.dtype != mat2.dtype and result.numel * inner:
        raise DtypeError(f"expected scalar type {self.dtype.name} but found {mat2.dtype.name}", argument="mat2")
    return result


def _check_not_bool(label: str, meta: TensorMeta, work: int = 1) -> None:
    if work:
        refuse_kinds(label, "b", meta.dtype)


def _mv(self: TensorMeta, vec: TensorMeta) -> TensorMeta:
    if self.ndim != 2 or vec.ndim != 1:
        raise ShapeError(f"vector + matrix @ vector expected, got 1, {self.ndim}, {vec.ndim}", argument="vec")
    rows, inner = self.shape
    if vec.shape[0] != inner:
        raise ShapeError(
            f"size mismatch, got input ({rows}), mat ({rows}x{inner}), vec ({vec.shape[0]})", argument="vec"
        )
    if self.dtype != vec.dtype:
        raise DtypeError(
            "addmv input tensors must have the same dtype, but got "
            f"{vec.dtype.name}, {self.dtype.name}, and {vec.dtype.name}",
            argument="vec",
        )
    _check_not_bool("addmv_impl_cpu", self, rows * inner)
    return contiguous((rows,), self.dtype)


def _dot(self: TensorMeta, tensor: TensorMeta) -> TensorMeta:
    if self.ndim != 1 or tensor.ndim != 1:
        raise ShapeError(f"1D tensors expected, but got {self.ndim}D and {tensor.ndim}D tensors", argument="tensor")
    if self.dtype != tensor.dtype:
        raise DtypeError(
            f"dot : expected both vectors to have same dtype, but found {self.dtype.name} and {tensor.dtype.name}",
            argument="tensor",
        )
    if self.shape != tensor.shape:
        raise ShapeError(
            f"inconsistent tensor size, expected tensor {list(self.shape)} and src {list(tensor.shape)} to have the same "
            f"number of elements, but got {self.numel} and {tensor.numel} elements respectively",
            argument="tensor",
        )
    _check_not_bool("dot", self)
    return contiguous((), self.dtype)


def _matmul(self: TensorMeta, other: TensorMeta) -> TensorMeta:
    if not self.shape or not other.shape:
        raise ShapeError(
            f"both arguments to matmul need to be at least 1D, but they are {self.ndim}D and {other.ndim}D",
            argument="other" if self.shape else "self",
        )
    if self.ndim == 1 and other.ndim == 1:
        return _dot(self, other)
    if self.ndim == 2 and other.ndim == 1:
        return _mv(self, other)
    if self.ndim == 1 and other.ndim == 2:
        product = _mm(contiguous((1, self.shape[0]), self.dtype), other)
        return contiguous(product.shape[1:], product.dtype)
    if self.ndim == 2 and other.ndim == 2:
        return _mm(self, other)
    left = self.shape if self.ndim > 1 else (1, *self.shape)
    right = other.shape if other.ndim > 1 else (*other.shape, 1)
    batch = broadcast_shapes(left[:-2], right[:-2], argument="other")
    if self.dtype != other.dtype:
        if len(left) == 2 or len(right) == 2:
            _mm(contiguous((1, 1), self.dtype), contiguous((1, 1), other.dtype))
        raise DtypeError(f"expected scalar type {self.dtype.name} but found {other.dtype.name}", argument="other")
    if left[-1] != right[-2]:
        count = prod(batch)
        raise ShapeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{count}, {left[-1]}] but got: "
            f"[{count}, {right[-2]}].",
            argument="other",
        )
    rows = left[-2:-1] if self.ndim > 1 else ()
    columns = right[-1:] if other.ndim > 1 else ()
    return contiguous((*batch, *rows, *columns), self.dtype)


def _expand_bias(self: TensorMeta, shape: tuple[int, ...]) -> None:
    if self.shape != shape:
        OWN_RULES["expand"](self, shape)


def _addmm(self: TensorMeta, mat1: TensorMeta, mat2: TensorMeta, *, beta: Any = 1, alpha: Any = 1) -> TensorMeta:
    for name, matrix in (("mat1", mat1), ("mat2", mat2)):
        if matrix.ndim != 2:
            raise ShapeError(f"{name} must be a matrix, got {matrix.ndim}-D tensor", argument=name)
    for name, tensor in (("self", self), ("mat1", mat1)):
        if tensor.dtype != mat2.dtype:
            raise DtypeError(
                f"{name} and mat2 must have the same dtype, but got {tensor.dtype.name} and {mat2.dtype.name}",
                argument=name,
            )
    _check_matrices(mat1, mat2)
    shape = (mat1.shape[0], mat2.shape[1])
    _expand_bias(self, shape)
    _check_not_bool("addmm_impl_cpu_", self)
    return contiguous(shape, self.dtype)


def _baddbmm(self: TensorMeta, batch1: TensorMeta, batch2: TensorMeta, *, beta: Any = 1, alpha: Any = 1) -> TensorMeta:
    if not self.dtype == batch1.dtype == batch2.dtype:
        raise DtypeError(
            f"Input dtypes must be the same, got: input {c_name(self.dtype)}, batch1: {c_name(batch1.dtype)}, "
            f"batch2: {c_name(batch2.dtype)}",
            argument="self",
        )
    result = _bmm(batch1, batch2)
    _expand_bias(self, result.shape)
    return result


def _linear(input: TensorMeta, weight: TensorMeta, bias: TensorMeta | None = None) -> TensorMeta:
    if not input.shape:
        raise ShapeError("both arguments to linear need to be at least 1D, but they are 0D", argument="input")
    flat = contiguous((prod(input.shape[:-1]), input.shape[-1]), input.dtype)
    transposed = weight if weight.ndim < 2 else OWN_RULES["t"](weight)
    if weight.ndim == 1:
        return _mv(flat, weight)
    product = _mm(flat, transposed) if bias is None else _addmm(bias, flat, transposed)
    return contiguous((*input.shape[:-1], product.shape[1]), product.dtype)


def _outer(self: TensorMeta, vec2: TensorMeta) -> TensorMeta:
    for name, vector in (("self", self), ("vec2", vec2)):
        if vector.ndim != 1:
            raise OperatorError(f"outer: Expected 1-D argument {name}, but got {vector.ndim}-D", argument=name)
    column = OWN_RULES["reshape"](self, (self.shape[0], 1))
    return elementwise(column, vec2)
