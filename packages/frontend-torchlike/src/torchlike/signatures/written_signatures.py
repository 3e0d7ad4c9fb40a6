"""Signatures of functions and methods that take or return something else than the operator of their name.

A line of names is followed by their signatures, one for each kind of call, as they stand behind ``def name``; the most
general one is first. A line that is indented twice goes on with the one above.
"""

from __future__ import annotations

from typing import Final


def _read(table: str, **parts: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for block in table.replace("\n        ", " ").strip().split("\n\n"):
        names, *signatures = (line.strip().format_map(parts) for line in block.splitlines())
        found.update(dict.fromkeys(names.split(), tuple(signatures)))
    return found


#: Function of `torchlike` → its signatures.
FUNCTIONS: Final = _read("""
atleast_1d atleast_2d atleast_3d
    (first: Tensor, second: Tensor, /, *tensors: Tensor) -> tuple[Tensor, ...]
    (tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]
    (tensor: Tensor, /) -> Tensor

column_stack dstack hstack row_stack vstack
    (tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor

cat concat concatenate stack
    (tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor

dsplit hsplit vsplit
    (input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]

block_diag cartesian_prod
    (*tensors: Tensor) -> Tensor

broadcast_tensors
    (*tensors: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]

cdist
    (x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor

chain_matmul
    (*matrices: Tensor, out: Tensor | None = None) -> Tensor

einsum
    (equation: str, *operands: Tensor | Sequence[Tensor]) -> Tensor
    (operand: Tensor, subscripts: list[Any] | tuple[Any, ...], /, *operands: Tensor | list[Any] | tuple[Any, ...]) -> Tensor

meshgrid
    (*tensors: Tensor | Sequence[Tensor], indexing: str | None = None) -> tuple[Tensor, ...]

narrow
    (input: Tensor, dim: int, start: Tensor | int, length: int) -> Tensor

nonzero
    (input: Tensor, *, out: Tensor | None = None, as_tuple: Literal[False] = False) -> Tensor
    (input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]

norm
    (input: Tensor, p: Number | str | None = "fro", dim: int | Sequence[int] | None = None, keepdim: bool = False,
        out: Tensor | None = None, dtype: dtype | None = None) -> Tensor

split
    (tensor: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]

split_copy
    (input: Tensor, split_size: int, dim: int = 0, *, out: None = None) -> tuple[Tensor, ...]
    (input: Tensor, split_size: int, dim: int = 0, *, out: Sequence[Tensor]) -> None

split_with_sizes_copy
    (input: Tensor, split_sizes: Sequence[int], dim: int = 0, *, out: None = None) -> tuple[Tensor, ...]
    (input: Tensor, split_sizes: Sequence[int], dim: int = 0, *, out: Sequence[Tensor]) -> None

stft
    (input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
        window: Tensor | None = None, center: bool = True, pad_mode: str = "reflect", normalized: bool = False,
        onesided: bool | None = None, return_complex: bool | None = None, align_to_window: bool | None = None) -> Tensor

tensor_split
    (input: Tensor, indices_or_sections: Tensor | int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]

tensordot
    (a: Tensor, b: Tensor, dims: Tensor | int | Sequence[Any] = 2, out: Tensor | None = None) -> Tensor

unbind_copy
    (input: Tensor, dim: int = 0, *, out: None = None) -> tuple[Tensor, ...]
    (input: Tensor, dim: int = 0, *, out: Sequence[Tensor]) -> None

unique_consecutive
    (input: Tensor, return_inverse: Literal[False] = False, return_counts: Literal[False] = False,
        dim: int | None = None) -> Tensor
    (input: Tensor, return_inverse: Literal[True], return_counts: Literal[False] = False,
        dim: int | None = None) -> tuple[Tensor, Tensor]
    (input: Tensor, return_inverse: Literal[False] = False, *, return_counts: Literal[True],
        dim: int | None = None) -> tuple[Tensor, Tensor]
    (input: Tensor, return_inverse: Literal[True], return_counts: Literal[True],
        dim: int | None = None) -> tuple[Tensor, Tensor, Tensor]
    (input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any

where
    (condition: Tensor, input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor
    (condition: Tensor) -> tuple[Tensor, ...]
""")

_OPTIONS: Final = (
    "out: Tensor | None = None, dtype: dtype | None = None, layout: layout | None = None, device: Device | None = None,"
    " pin_memory: bool | None = False, requires_grad: bool = False"
)
#: The same for factories.
FACTORIES: Final = _read(
    """
arange
    (start: Number, end: Number, step: Number = 1, *, {options}, chunks: Any = None) -> Tensor
    (end: Number, *, {options}, chunks: Any = None) -> Tensor

normal
    (mean: Number, std: Number, size: Sequence[int], *, generator: Generator | None = None, {options}) -> Tensor
    (mean: Tensor | Number, std: Tensor | Number = 1.0, *, generator: Generator | None = None,
        out: Tensor | None = None) -> Tensor
""",
    options=_OPTIONS,
)

#: And for methods that are no operator of their name, or have other arguments than the function.
METHODS: Final = _read("""
__abs__ __invert__ __neg__ __pos__
    (self) -> Tensor

__add__ __and__ __div__ __floordiv__ __lshift__ __matmul__ __mod__ __mul__ __or__ __pow__ __rshift__ __sub__
        __truediv__ __xor__
    (self, other: NumberOrTensor, /) -> Tensor

__radd__ __rand__ __rdiv__ __rfloordiv__ __rlshift__ __rmatmul__ __rmod__ __rmul__ __ror__ __rpow__ __rrshift__ __rsub__
        __rtruediv__ __rxor__
    (self, other: NumberOrTensor, /) -> Tensor

__iadd__ __iand__ __ifloordiv__ __ilshift__ __imod__ __imul__ __ior__ __ipow__ __irshift__ __isub__ __itruediv__ __ixor__
    (self, other: NumberOrTensor, /) -> Self

__lt__ __le__ __gt__ __ge__
    (self, other: NumberOrTensor, /) -> Tensor

__eq__ __ne__
    (self, other: object, /) -> Tensor

__array__
    (self, dtype: Any = None, copy: bool | None = None) -> Array

__array_ufunc__
    (self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any

__array_wrap__
    (self, array: Array, context: Any = None, return_scalar: bool = False) -> Tensor

__deepcopy__
    (self, memo: dict[int, Any]) -> Self

__dlpack__
    (self, **options: Any) -> Any

__dlpack_device__
    (self) -> tuple[int, int]

__getitem__
    (self, index: Index, /) -> Tensor

__setitem__
    (self, index: Index, value: NumberOrTensor, /) -> None

apply_
    (self, callable: Callable[[Any], Any]) -> Self

as_subclass
    (self, cls: type[T]) -> T

backward
    (self, gradient: Tensor | None = None, retain_graph: bool | None = None, create_graph: bool = False,
        inputs: Tensor | Sequence[Tensor] | None = None) -> None

bfloat16 bool byte cdouble cfloat char double float half int long short
    (self, memory_format: memory_format | None = None) -> Tensor

const_data_ptr data_ptr get_device
    (self) -> int

cpu
    (self, *, memory_format: memory_format | None = None) -> Tensor

cuda hpu ipu xpu
    (self, device: Device | None = None, non_blocking: bool = False,
        memory_format: memory_format | None = None) -> Tensor

dim_order
    (self, *, ambiguity_check: Any = False) -> tuple[int, ...]

is_distributed is_shared
    (self) -> bool

is_pinned
    (self, device: Device | None = None) -> bool

item
    (self) -> int | Any

lu
    (self, pivot: bool = True, get_infos: bool = False) -> Any

map2_
    (self, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Self

map_
    (self, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Self

new
    (self, *args: Any, size: Sequence[int] | None = None, device: Device | None = None,
        dtype: dtype | None = None) -> Tensor

new_tensor
    (self, data: Any, *, dtype: dtype | None = None, device: Device | None = None, requires_grad: bool = False,
        pin_memory: bool = False) -> Tensor

numpy
    (self, *, force: bool = False) -> Array

pin_memory
    (self, device: Device | None = None) -> Tensor

polygamma
    (self, n: int) -> Tensor

record_stream
    (self, stream: Any) -> None

resize
    (self, *sizes: int) -> Tensor

resize_as
    (self, tensor: Tensor) -> Tensor

share_memory_
    (self) -> Self

split
    (self, split_size: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]

storage
    (self) -> TypedStorage

to
    (self, device: Device | None = None, dtype: dtype | None = None, non_blocking: bool = False, copy: bool = False, *,
        memory_format: memory_format | None = None, chunks: Any = None) -> Tensor
    (self, dtype: dtype | None, non_blocking: bool = False, copy: bool = False, *,
        memory_format: memory_format | None = None, chunks: Any = None) -> Tensor
    (self, other: Tensor, non_blocking: bool = False, copy: bool = False, *,
        memory_format: memory_format | None = None, chunks: Any = None) -> Tensor

tolist
    (self) -> list[Any] | Any

type
    (self, dtype: None = None, non_blocking: bool = False) -> str
    (self, dtype: dtype | str, non_blocking: bool = False) -> Tensor

unique
    (self, sorted: bool = True, return_inverse: Literal[False] = False, return_counts: Literal[False] = False,
        dim: int | None = None) -> Tensor
    (self, sorted: bool = True, *, return_inverse: Literal[True], return_counts: Literal[False] = False,
        dim: int | None = None) -> tuple[Tensor, Tensor]
    (self, sorted: bool = True, return_inverse: Literal[False] = False, *, return_counts: Literal[True],
        dim: int | None = None) -> tuple[Tensor, Tensor]
    (self, sorted: bool = True, *, return_inverse: Literal[True], return_counts: Literal[True],
        dim: int | None = None) -> tuple[Tensor, Tensor, Tensor]
    (self, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any

untyped_storage
    (self) -> UntypedStorage

where
    (self, condition: Tensor, other: Tensor | Number) -> Tensor
""")
