"""Pooling, and its inverse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import dispatch_core as dc
from dispatch_aten.shapes import scale_sizes

from ...creation.factories import FACTORIES
from ...functions.operator_functions import FUNCTIONAL, FUNCTIONS
from ...tensors.arguments import check_tensor
from ...tensors.tensor import Tensor
from ..modules.utils import _list_with_default

avg_pool1d = FUNCTIONS["avg_pool1d"]
avg_pool2d, avg_pool3d = FUNCTIONAL["avg_pool2d"], FUNCTIONAL["avg_pool3d"]
adaptive_avg_pool1d = FUNCTIONS["adaptive_avg_pool1d"]

#: One size for all dimensions, or one for each.
Sizes = int | Sequence[int]
_Found_co = TypeVar("_Found_co", covariant=True)


class _MaxPool(Protocol[_Found_co]):
    """The type of a function that pools windows."""

    def __call__(
        self,
        input: Tensor,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> _Found_co: ...


class _AdaptiveMaxPool(Protocol[_Found_co]):
    """The type of a function that pools as many windows as its result has elements."""

    def __call__(self, input: Tensor, output_size: Any, return_indices: bool = False) -> _Found_co: ...


def _spread(value: Sizes | None, count: int) -> list[int]:
    """Return one number for each dimension; none for None."""
    if value is None:
        return []
    return [value] * count if isinstance(value, int) else list(value)


def _make_max_pool(count: int) -> tuple[_MaxPool[Any], _MaxPool[tuple[Tensor, Tensor]]]:
    packet, values = (getattr(dc.ops.aten, f"max_pool{count}d{suffix}") for suffix in ("_with_indices", ""))

    def max_pool_with_indices(
        input: Tensor,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> tuple[Tensor, Tensor]:
        """Return the largest elements of windows, and their places in the input."""
        check_tensor(input, f"max_pool{count}d")
        numbers = (_spread(each, count) for each in (kernel_size, stride, padding, dilation))
        found = packet.default(input, *numbers, ceil_mode)
        return found[0], found[1]

    def max_pool(
        input: Tensor,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        """Return the largest elements of windows, with ``return_indices`` also their places in the input."""
        if return_indices:
            return max_pool_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
        check_tensor(input, f"max_pool{count}d")
        numbers = (_spread(each, count) for each in (kernel_size, stride, padding, dilation))
        return values.default(input, *numbers, ceil_mode)

    max_pool.__name__ = max_pool.__qualname__ = f"max_pool{count}d"
    max_pool_with_indices.__name__ = max_pool_with_indices.__qualname__ = f"max_pool{count}d_with_indices"
    return max_pool, max_pool_with_indices


max_pool1d, max_pool1d_with_indices = _make_max_pool(1)
max_pool2d, max_pool2d_with_indices = _make_max_pool(2)
max_pool3d, max_pool3d_with_indices = _make_max_pool(3)


def _fill_sizes(output_size: Any, input: Tensor, count: int) -> list[int]:
    """Return a wanted size for each dimension; None represents the input's."""
    if output_size is None:
        output_size = [None] * count
    found = _list_with_default(output_size, input.shape)
    return [found] * count if isinstance(found, int) else list(found)


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Return means of windows that lie so that the result has ``output_size``; None keeps the input's size.

    >>> import torchlike
    >>> adaptive_avg_pool2d(torchlike.ones(1, 2, 7, 5), (3, None)).shape
    torchlike.Size([1, 2, 3, 5])
    """
    check_tensor(input, "adaptive_avg_pool2d")
    return dc.ops.aten.adaptive_avg_pool2d(input, _fill_sizes(output_size, input, 2))


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Return means of windows that lie so that the result has ``output_size``; None keeps the input's size."""
    check_tensor(input, "adaptive_avg_pool3d")
    return dc.ops.aten.adaptive_avg_pool3d(input, _fill_sizes(output_size, input, 3))


def _make_adaptive_max_pool(count: int) -> tuple[_AdaptiveMaxPool[Any], _AdaptiveMaxPool[tuple[Tensor, Tensor]]]:
    packet = getattr(dc.ops.aten, f"adaptive_max_pool{count}d")

    def adaptive_max_pool_with_indices(
        input: Tensor, output_size: Any, return_indices: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Return the largest elements of adaptive windows, and their places in the input."""
        check_tensor(input, f"adaptive_max_pool{count}d")
        sizes = _spread(output_size, 1) if count == 1 else _fill_sizes(output_size, input, count)
        found = packet(input, sizes)
        return found[0], found[1]

    def adaptive_max_pool(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        """Return the largest elements of windows that lie so that the result has ``output_size``."""
        found = adaptive_max_pool_with_indices(input, output_size)
        return found if return_indices else found[0]

    adaptive_max_pool.__name__ = adaptive_max_pool.__qualname__ = f"adaptive_max_pool{count}d"
    name = f"adaptive_max_pool{count}d_with_indices"
    adaptive_max_pool_with_indices.__name__ = adaptive_max_pool_with_indices.__qualname__ = name
    return adaptive_max_pool, adaptive_max_pool_with_indices


adaptive_max_pool1d, adaptive_max_pool1d_with_indices = _make_adaptive_max_pool(1)
adaptive_max_pool2d, adaptive_max_pool2d_with_indices = _make_adaptive_max_pool(2)
adaptive_max_pool3d, adaptive_max_pool3d_with_indices = _make_adaptive_max_pool(3)


def _make_fractional(count: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    name = f"fractional_max_pool{count}d"
    packet = getattr(dc.ops.aten, name)

    def fractional_max_pool_with_indices(
        input: Tensor,
        kernel_size: Sizes,
        output_size: Sizes | None = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Return the largest elements of windows at random places, and their places in the input."""
        check_tensor(input, name)
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
        if output_size is None:
            if isinstance(output_ratio, (int, float)):
                output_ratio = (output_ratio,) * count
            if len(output_ratio) != count:
                raise ValueError(f"{name} requires output_ratio to either be a single Int or tuple of Ints.")
            output_size = scale_sizes(input.shape[-count:], output_ratio, "output_ratio")
        if _random_samples is None:
            batch = 1 if len(input.shape) == count + 1 else input.shape[0]
            sizes = (batch, input.shape[-count - 1], count)
            _random_samples = FACTORIES["rand"](*sizes, dtype=input.dtype, device=input.device)
        found = packet(input, _spread(kernel_size, count), _spread(output_size, count), _random_samples)
        return found[0], found[1]

    def fractional_max_pool(
        input: Tensor,
        kernel_size: Sizes,
        output_size: Sizes | None = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> Any:
        """Return the largest elements of windows at random places (Graham, 2015)."""
        found = fractional_max_pool_with_indices(
            input, kernel_size, output_size, output_ratio, _random_samples=_random_samples
        )
        return found if return_indices else found[0]

    fractional_max_pool.__name__ = fractional_max_pool.__qualname__ = name
    fractional_max_pool_with_indices.__name__ = fractional_max_pool_with_indices.__qualname__ = f"{name}_with_indices"
    return fractional_max_pool, fractional_max_pool_with_indices


fractional_max_pool2d, fractional_max_pool2d_with_indices = _make_fractional(2)
fractional_max_pool3d, fractional_max_pool3d_with_indices = _make_fractional(3)


def _unpooled_size(
    input: Tensor, kernel: list[int], stride: list[int], padding: list[int], output_size: Any
) -> list[int]:
    """Return the size that pooling has taken to the input's; a wanted one is checked against it."""
    count = len(kernel)
    usual = [
        (size - 1) * step + span - 2 * pad
        for size, step, span, pad in zip(input.shape[-count:], stride, kernel, padding, strict=True)
    ]
    if output_size is None:
        return usual
    wanted = list(output_size)
    if len(wanted) == count + 2:
        wanted = wanted[2:]
    if len(wanted) != count:
        raise ValueError(
            f"output_size should be a sequence containing {count} or {count + 2} elements, but it has a length of "
            f"'{len(wanted)}'"
        )
    for dim, (size, least, step) in enumerate(zip(wanted, usual, stride, strict=True)):
        if not least - step < size < least + step:
            raise ValueError(
                f"invalid output_size {wanted} (dim {dim} must be between {least - step} and {least + step})"
            )
    return wanted


def _make_max_unpool(count: int) -> Callable[..., Tensor]:
    def max_unpool(
        input: Tensor,
        indices: Tensor,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        output_size: Any = None,
    ) -> Tensor:
        """Put elements back where ``max_pool`` found them, among zeros."""
        check_tensor(input, f"max_unpool{count}d")
        check_tensor(indices, f"max_unpool{count}d", "indices")
        kernel = _spread(kernel_size, count)
        step, pad = _spread(stride, count) or kernel, _spread(padding, count)
        size = _unpooled_size(input, kernel, step, pad, output_size)
        if count == 3:
            return dc.ops.aten.max_unpool3d(input, indices, size, step, pad)
        if count == 2:
            return dc.ops.aten.max_unpool2d(input, indices, size)
        found: Any = dc.ops.aten.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), [*size, 1])
        return found.squeeze(-1)

    max_unpool.__name__ = max_unpool.__qualname__ = f"max_unpool{count}d"
    return max_unpool


max_unpool1d, max_unpool2d, max_unpool3d = (_make_max_unpool(count) for count in (1, 2, 3))


def _make_lp_pool(count: int) -> Callable[..., Tensor]:
    def lp_pool(
        input: Tensor,
        norm_type: float,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        ceil_mode: bool = False,
    ) -> Tensor:
        """Return the norms of windows, ``sum(x ** p) ** (1 / p)``."""
        check_tensor(input, f"lp_pool{count}d")
        kernel = _spread(kernel_size, count)
        powers = input.pow(norm_type)
        average: Any = (avg_pool1d, avg_pool2d, avg_pool3d)[count - 1]
        mean = average(powers, kernel, _spread(stride, count) or kernel, 0, ceil_mode)
        size = 1
        for each in kernel:
            size *= each
        return (mean.sign() * FUNCTIONS["relu"](mean.abs())).mul(size).pow(1.0 / norm_type)

    lp_pool.__name__ = lp_pool.__qualname__ = f"lp_pool{count}d"
    return lp_pool


lp_pool1d, lp_pool2d, lp_pool3d = (_make_lp_pool(count) for count in (1, 2, 3))
