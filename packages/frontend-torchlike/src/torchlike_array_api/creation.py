"""The standard's functions that make tensors."""

from __future__ import annotations

__name__ = "torchlike.array_api.creation"  # see Note [Public paths]

from collections.abc import Callable
from typing import Any, Final, Literal

import numpy as np

from dispatch_aten.dtypes import ScalarType, get_default_dtype
from torchlike.creation import sources
from torchlike.creation.factories import FACTORIES
from torchlike.functions.operator_functions import FUNCTIONS
from torchlike.tensors.tensor import Tensor

from .operands import promote

__all__ = [
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]

Shape = int | tuple[int, ...]


def _read_shape(shape: Shape) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: ScalarType | None = None,
    device: Any = None,
) -> Tensor:
    """Return the numbers from ``start`` on, ``step`` apart, up to but without ``stop``.

    >>> arange(0, 10, 4)
    tensor([0, 4, 8])
    """
    if stop is None:
        start, stop = 0, start
    if (stop - start) * step <= 0:
        numbers = (start, stop, step)
        plain = ScalarType.Long if all(isinstance(each, int) for each in numbers) else get_default_dtype()
        return FACTORIES["empty"]((0,), dtype=dtype or plain, device=device)
    return FACTORIES["arange"](start, stop, step, dtype=dtype, device=device)


def asarray(obj: Any, /, *, dtype: ScalarType | None = None, device: Any = None, copy: bool | None = None) -> Tensor:
    """Return a tensor of a tensor, an array, an object with DLPack or a buffer, a nested sequence, or a number.

    Memory is shared where possible, unless ``copy`` is True; raises ``ValueError`` where ``copy`` is False and it is not.

    >>> asarray([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    >>> asarray(bytearray(b"ab"))
    tensor([97, 98], dtype=torchlike.uint8)
    """
    if isinstance(obj, (bytes, bytearray, memoryview)):
        obj = np.asarray(memoryview(obj))  # torch takes the bytes for numbers of its default dtype
    return sources.asarray(obj, dtype=dtype, device=device, copy=copy)


def _make_sized(name: str, sentence: str) -> Callable[..., Tensor]:
    def function(shape: Shape, *, dtype: ScalarType | None = None, device: Any = None) -> Tensor:
        return FACTORIES[name](_read_shape(shape), dtype=dtype, device=device)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return a tensor of a shape {sentence} (source: the array API standard's ``{name}``)."
    return function


def _make_like(name: str, sentence: str) -> Callable[..., Tensor]:
    def function(x: Tensor, /, *, dtype: ScalarType | None = None, device: Any = None) -> Tensor:
        return FACTORIES[name](tuple(x.shape), dtype=dtype or x.dtype, device=device or x.device)

    function.__name__ = function.__qualname__ = f"{name}_like"
    function.__doc__ = (
        f"Return a tensor of another's shape {sentence} (source: the array API standard's ``{name}_like``)."
    )
    return function


_FILLED: Final = {"empty": "whose elements are not set", "ones": "full of ones", "zeros": "full of zeros"}
empty, ones, zeros = (_make_sized(name, sentence) for name, sentence in _FILLED.items())
empty_like, ones_like, zeros_like = (_make_like(name, sentence) for name, sentence in _FILLED.items())


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: ScalarType | None = None, device: Any = None
) -> Tensor:
    """Return a matrix with ones on its ``k``-th diagonal and zeros elsewhere.

    >>> eye(2, 3, k=1)
    tensor([[0., 1., 0.],
            [0., 0., 1.]])
    """
    made = zeros((n_rows, n_rows if n_cols is None else n_cols), dtype=dtype, device=device)
    if -made.shape[0] < k < made.shape[1]:
        FUNCTIONS["diagonal"](made, k).fill_(1)
    return made


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """Return a tensor in the memory of another library's array; ``copy`` and ``device`` as the standard says.

    >>> import numpy
    >>> from_dlpack(numpy.arange(3))
    tensor([0, 1, 2])
    """
    return sources.from_dlpack(x, device=device, copy=copy)


def full(shape: Shape, fill_value: complex, *, dtype: ScalarType | None = None, device: Any = None) -> Tensor:
    """Return a tensor of a shape full of one number, in the number's dtype if none is given.

    >>> full(2, 3)
    tensor([3, 3])
    """
    return FACTORIES["full"](_read_shape(shape), fill_value, dtype=dtype, device=device)


def full_like(x: Tensor, /, fill_value: complex, *, dtype: ScalarType | None = None, device: Any = None) -> Tensor:
    """Return a tensor of another's shape full of one number.

    >>> full_like(ones(2), 3)
    tensor([3., 3.])
    """
    return full(tuple(x.shape), fill_value, dtype=dtype or x.dtype, device=device or x.device)


def linspace(
    start: complex,
    stop: complex,
    /,
    num: int,
    *,
    dtype: ScalarType | None = None,
    device: Any = None,
    endpoint: bool = True,
) -> Tensor:
    """Return ``num`` numbers at equal distances from ``start`` to ``stop``, which is left out without ``endpoint``.

    >>> linspace(0, 1, 4, endpoint=False)
    tensor([0.0000, 0.2500, 0.5000, 0.7500])
    """
    if endpoint:
        return FACTORIES["linspace"](start, stop, num, dtype=dtype, device=device)
    return FACTORIES["linspace"](start, stop, num + 1, dtype=dtype, device=device)[:num]


def meshgrid(*arrays: Tensor, indexing: Literal["xy", "ij"] = "xy") -> tuple[Tensor, ...]:
    """Return the coordinates of a grid, one tensor for each vector of them.

    >>> [grid.shape for grid in meshgrid(ones(2), ones(3))]
    [torchlike.Size([3, 2]), torchlike.Size([3, 2])]
    """
    if not arrays:
        return ()
    return tuple(FUNCTIONS["meshgrid"](list(promote(*arrays)), indexing=indexing))


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Return the elements of matrices on and below the ``k``-th diagonal, and zeros above it.

    >>> tril(ones((2, 2)))
    tensor([[1., 0.],
            [1., 1.]])
    """
    return FUNCTIONS["tril"](x, k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Return the elements of matrices on and above the ``k``-th diagonal, and zeros below it.

    >>> triu(ones((2, 2)))
    tensor([[1., 1.],
            [0., 1.]])
    """
    return FUNCTIONS["triu"](x, k)
