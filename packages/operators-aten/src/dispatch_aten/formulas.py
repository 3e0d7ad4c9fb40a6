"""Functions that derivative formulas use, written in aten operators only, so that gradients have gradients.

What is common to several formulas, or too long for an expression, is here; the formulas themselves are in ``derivatives``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import dispatch_core as dc
from dispatch_core import shape as shape_of

from .dtypes import int64
from .shapes.dims import wrap_dim, wrap_dims

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .promotion import Number

Array: TypeAlias = Any
aten: Final[Any] = dc.ops.aten

__all__ = [
    "aminmax_gradient",
    "as_strided_gradient",
    "bce_with_logits_gradient",
    "bce_with_logits_target_gradient",
    "cat_gradient",
    "clamp_gradient",
    "clamp_max_gradient",
    "clamp_min_gradient",
    "count_of",
    "cumprod_gradient",
    "div_mode_gradient",
    "div_mode_other_gradient",
    "elu_second",
    "embedding_second",
    "extremum_gradient",
    "floor_of_ratio",
    "gelu_second",
    "halved_where",
    "index_add_source_gradient",
    "inverse_permutation",
    "logsumexp_gradient",
    "masked_select_gradient",
    "masked_source_gradient",
    "max_one",
    "moved",
    "mse_factor",
    "mse_slope",
    "native_dropout_gradient",
    "negated",
    "norm_gradient",
    "one_minus",
    "pow_exponent_gradient",
    "pow_gradient",
    "prod_dim_gradient",
    "prod_gradient",
    "repeat_gradient",
    "reversed_cumsum",
    "scaled",
    "slice_gradient",
    "softmax_second",
    "softplus_second",
    "split_gradient",
    "spread",
    "std_gradient",
    "take_gradient",
    "unbind_gradient",
    "var_gradient",
    "var_mean_gradient",
]


# Numbers and shapes.


def scaled(self: Array, factor: Number) -> Array:
    """Give ``self * factor``, and ``self`` itself for 1."""
    return self if factor == 1 else aten.mul.Scalar(self, factor)


def one_minus(self: Array) -> Array:
    """Give ``1 - self``."""
    return aten.rsub.Scalar(self, 1)


def max_one(count: int) -> int:
    """Give ``count``, but 1 for 0: the mean of nothing has a gradient of no elements."""
    return max(count, 1)


def count_of(sizes: Sequence[int], dim: int | Sequence[int] | None) -> int:
    """Give how many elements a reduction over ``dim`` brings together."""
    return math.prod(sizes[each] for each in wrap_dims(dim, len(sizes)) if sizes)


def inverse_permutation(dims: Sequence[int]) -> list[int]:
    """Give the permutation that undoes ``dims``."""
    inverse = [0] * len(dims)
    for place, dim in enumerate(dims):
        inverse[dim] = place
    return inverse


def negated(values: int | Sequence[int]) -> list[int]:
    """Give the numbers with their signs turned."""
    return [-values] if isinstance(values, int) else [-value for value in values]


def moved(grad: Array, device: dc.Device) -> Array:
    """Give the gradient on ``device``."""
    return grad if dc.device(grad) == device else aten._to_copy.default(grad, device=device)


def _with_reduced_dims(self: Array, count: int, dim: int | Sequence[int] | None, keepdim: bool) -> Array:
    """Give a reduction's result with its reduced dimensions put back as dimensions of size 1."""
    if keepdim or not count:
        return self
    if dim is None or (not isinstance(dim, int) and not dim):
        return aten.reshape.default(self, (1,) * count)
    for each in sorted(wrap_dims(dim, count)):
        self = aten.unsqueeze.default(self, each)
    return self


def spread(grad: Array, sizes: Sequence[int], dim: int | Sequence[int] | None, keepdim: bool) -> Array:
    """Give the gradient of a sum: the same for every element that was added."""
    return aten.expand.default(_with_reduced_dims(grad, len(sizes), dim, keepdim), sizes)


# Element-wise operators.


def halved_where(grad: Array, tie: Array) -> Array:
    """Give half of the gradient where two operands tie."""
    return aten.where.self(tie, aten.mul.Scalar(grad, 0.5), grad)


def _compare(name: str, self: Array, other: Array | Number) -> Array:
    packet = getattr(aten, name)
    return packet.Scalar(self, other) if isinstance(other, (bool, int, float)) else packet.Tensor(self, other)


def clamp_gradient(grad: Array, self: Array, low: Array | Number | None, high: Array | Number | None) -> Array:
    """Let the gradient through where ``self`` was within its bounds."""
    inside = None
    for name, bound in (("ge", low), ("le", high)):
        if bound is not None:
            here = _compare(name, self, bound)
            inside = here if inside is None else aten.logical_and.default(inside, here)
    return grad if inside is None else aten.where.ScalarOther(inside, grad, 0)


def clamp_min_gradient(grad: Array, self: Array, low: Array, high: Array | None) -> Array:
    """Let the gradient through to the lower bound where it was the answer."""
    taken = aten.lt.Tensor(self, low)
    if high is not None:
        taken = aten.logical_and.default(taken, aten.lt.Tensor(low, high))
    return aten.where.ScalarOther(taken, grad, 0)


def clamp_max_gradient(grad: Array, self: Array, low: Array | None, high: Array) -> Array:
    """Let the gradient through to the upper bound where it was the answer."""
    taken = aten.gt.Tensor(self, high)
    if low is not None:
        taken = aten.logical_or.default(taken, aten.lt.Tensor(high, low))
    return aten.where.ScalarOther(taken, grad, 0)


def div_mode_gradient(grad: Array, other: Array | Number, rounding_mode: str | None) -> Array:
    """Give the dividend's gradient: zero where the quotient is rounded."""
    return aten.zeros_like.default(grad) if rounding_mode else aten.div(grad, other)


def div_mode_other_gradient(grad: Array, self: Array, other: Array, rounding_mode: str | None) -> Array:
    """Give the divisor's gradient: zero where the quotient is rounded."""
    if rounding_mode:
        return aten.zeros_like.default(grad)
    return aten.neg.default(aten.mul.Tensor(grad, aten.div.Tensor(aten.div.Tensor(self, other), other)))


def floor_of_ratio(self: Number, other: Array) -> Array:
    """Give ``floor(self / other)`` for a number ``self``."""
    return aten.floor.default(aten.mul.Scalar(aten.reciprocal.default(other), self))


def pow_gradient(grad: Array, self: Array, exponent: Array | Number) -> Array:
    """Give the base's gradient; zero for a zero exponent, also at zero, where the power rule has none."""
    if isinstance(exponent, (bool, int, float, complex)):
        if exponent == 0:
            return aten.zeros_like.default(grad)
        return aten.mul.Tensor(grad, scaled(aten.pow.Tensor_Scalar(self, exponent - 1), exponent))
    slope = aten.mul.Tensor(exponent, aten.pow.Tensor_Tensor(self, aten.sub.Scalar(exponent, 1)))
    return aten.where.ScalarSelf(aten.eq.Scalar(exponent, 0), 0, aten.mul.Tensor(grad, slope))


def pow_exponent_gradient(grad: Array, self: Array | Number, exponent: Array, result: Array) -> Array:
    """Give the exponent's gradient; zero where base and exponent leave the power at zero."""
    if isinstance(self, (bool, int, float, complex)):
        if self == 0:
            flat = aten.ge.Scalar(exponent, 0)
            return aten.where.ScalarSelf(flat, 0, aten.mul.Tensor(grad, aten.mul.Scalar(result, -math.inf)))
        return aten.mul.Tensor(grad, aten.mul.Scalar(result, math.log(self)))  # type: ignore[arg-type]
    flat = aten.logical_and.default(aten.eq.Scalar(self, 0), aten.ge.Scalar(exponent, 0))
    slope = aten.where.ScalarSelf(flat, 0, aten.mul.Tensor(result, aten.log.default(self)))
    return aten.mul.Tensor(grad, slope)


def softplus_second(grad: Array, self: Array, beta: Number, threshold: Number) -> Array:
    """Give the gradient of softplus's gradient."""
    steep = aten.mul.Scalar(self, beta)
    bent = scaled(aten.sigmoid_backward.default(grad, aten.sigmoid.default(steep)), beta)
    return aten.where.ScalarSelf(aten.gt.Scalar(steep, threshold), 0, bent)


def elu_second(
    grad: Array, alpha: Number, scale: Number, input_scale: Number, is_result: bool, self_or_result: Array
) -> Array:
    """Give the gradient of elu's gradient."""
    if is_result:
        bent = scaled(grad, input_scale)
    else:
        grown = aten.exp.default(scaled(self_or_result, input_scale))
        bent = aten.mul.Tensor(grad, scaled(grown, alpha * scale * input_scale * input_scale))
    return aten.where.ScalarSelf(aten.gt.Scalar(self_or_result, 0), 0, bent)


def gelu_second(grad: Array, self: Array, approximate: str) -> Array:
    """Give the gradient of gelu's gradient."""
    squared = aten.mul.Tensor(self, self)
    if approximate == "none":
        density = scaled(aten.exp.default(scaled(squared, -0.5)), 1.0 / math.sqrt(2.0 * math.pi))
        return aten.mul.Tensor(grad, aten.mul.Tensor(density, aten.rsub.Scalar(squared, 2)))
    scale, cubic = math.sqrt(2.0 / math.pi), 0.044715
    bent = aten.tanh.default(scaled(aten.mul.Tensor(self, aten.add.Scalar(scaled(squared, cubic), 1)), scale))
    slope = one_minus(aten.mul.Tensor(bent, bent))
    rise = scaled(aten.add.Scalar(scaled(squared, 3 * cubic), 1), scale)
    curve = aten.sub.Tensor(
        scaled(self, 6 * cubic * scale), scaled(aten.mul.Tensor(bent, aten.mul.Tensor(rise, rise)), 2)
    )
    second = aten.mul.Tensor(slope, aten.add.Tensor(rise, scaled(aten.mul.Tensor(self, curve), 0.5)))
    return aten.mul.Tensor(grad, second)


# Reductions and scans.


def extremum_gradient(grad: Array, self: Array, result: Array, dim: int | Sequence[int] | None, keepdim: bool) -> Array:
    """Share the gradient among all elements that are the extremum."""
    count = len(shape_of(self))
    dims = list(wrap_dims(dim, count))
    mask = aten.eq.Tensor(_with_reduced_dims(result, count, dim, keepdim), self)
    ties = aten.sum.dim_IntList(mask, dims, True) if dims else aten.ones_like.default(mask, dtype=int64)
    share = aten.div.Tensor(_with_reduced_dims(grad, count, dim, keepdim), ties)
    return aten.mul.Tensor(share, mask)


def aminmax_gradient(
    grads: Sequence[Array | None], self: Array, least: Array, most: Array, dim: int | None, keepdim: bool
) -> Array:
    """Add the gradients of both extrema."""
    parts = [
        extremum_gradient(grad, self, result, dim, keepdim)
        for grad, result in zip(grads, (least, most), strict=True)
        if grad is not None
    ]
    return parts[0] if len(parts) == 1 else aten.add.Tensor(*parts)


def reversed_cumsum(grad: Array, dim: int) -> Array:
    """Give the sums from each element to the last."""
    if not shape_of(grad):
        return grad
    return aten.flip.default(aten.cumsum.default(aten.flip.default(grad, [dim]), dim), [dim])


def _products_without(self: Array, dim: int) -> Array:
    """Give for each element the product of all others along ``dim``, zeros among them or not."""
    size = shape_of(self)[dim]
    one = aten.ones_like.default(aten.slice.Tensor(self, dim, 0, min(size, 1)))
    before = aten.cumprod.default(aten.cat.default([one, aten.slice.Tensor(self, dim, 0, size - 1)], dim), dim)
    backwards = aten.flip.default(aten.slice.Tensor(self, dim, 1, size), [dim])
    after = aten.cumprod.default(aten.cat.default([one, backwards], dim), dim)
    return aten.mul.Tensor(before, aten.flip.default(after, [dim]))


def prod_gradient(grad: Array, self: Array) -> Array:
    """Give the gradient of the product of all elements."""
    sizes = shape_of(self)
    if not sizes or 0 in sizes:
        return aten.expand.default(grad, sizes)
    flat = aten.reshape.default(self, (-1,))
    return aten.reshape.default(aten.mul.Tensor(grad, _products_without(flat, 0)), sizes)


def prod_dim_gradient(grad: Array, self: Array, dim: int, keepdim: bool) -> Array:
    """Give the gradient of the products along ``dim``."""
    sizes = shape_of(self)
    if not sizes or 0 in sizes:
        return spread(grad, sizes, dim, keepdim)
    return aten.mul.Tensor(_with_reduced_dims(grad, len(sizes), dim, keepdim), _products_without(self, dim))


def cumprod_gradient(grad: Array, self: Array, result: Array, dim: int) -> Array:
    """Give the gradient of running products.

    Element j takes part in every product from j on. Before the first zero that is product / element; at the first zero
    the products are taken with a one in its place; behind it every product holds that zero and nothing arrives.
    """
    if not shape_of(self):
        return grad
    zero = aten.eq.Scalar(self, 0)
    seen = aten.cumsum.default(zero, dim)
    first = aten.logical_and.default(zero, aten.eq.Scalar(seen, 1))
    safe = aten.masked_fill.Scalar(self, zero, 1)
    ordinary = aten.div.Tensor(reversed_cumsum(aten.mul.Tensor(grad, result), dim), safe)
    bridged = aten.cumprod.default(aten.masked_fill.Scalar(self, first, 1), dim)
    at_first = reversed_cumsum(aten.mul.Tensor(grad, bridged), dim)
    chosen = aten.where.self(first, at_first, ordinary)
    behind = aten.logical_and.default(aten.gt.Scalar(seen, 0), aten.logical_not.default(first))
    return aten.masked_fill.Scalar(chosen, behind, 0)


def var_gradient(
    grad: Array, self: Array, dim: int | Sequence[int] | None, correction: float | None, keepdim: bool
) -> Array:
    """Give the gradient of the variance."""
    sizes = shape_of(self)
    free = count_of(sizes, dim) - (1 if correction is None else correction)
    away = aten.sub.Tensor(self, aten.mean.dim(self, dim, True))
    if free <= 0:
        factor = aten.new_full.default(grad, (), math.nan if free < 0 else math.inf)
        away = aten.mul.Tensor(away, factor)
    else:
        away = aten.mul.Scalar(away, 2.0 / free)
    return aten.mul.Tensor(_with_reduced_dims(grad, len(sizes), dim, keepdim), away)


def std_gradient(
    grad: Array, self: Array, result: Array, dim: int | Sequence[int] | None, correction: float | None, keepdim: bool
) -> Array:
    """Give the gradient of the standard deviation; zero where it is zero."""
    inner = aten.masked_fill.Scalar(aten.div.Tensor(grad, aten.mul.Scalar(result, 2)), aten.eq.Scalar(result, 0), 0)
    return var_gradient(inner, self, dim, correction, keepdim)


def var_mean_gradient(
    grads: Sequence[Array | None],
    self: Array,
    dim: int | Sequence[int] | None,
    correction: float | None,
    keepdim: bool,
) -> Array:
    """Add the gradients of variance and mean."""
    of_var, of_mean = grads
    sizes = shape_of(self)
    parts = []
    if of_var is not None:
        parts.append(var_gradient(of_var, self, dim, correction, keepdim))
    if of_mean is not None:
        parts.append(aten.div.Scalar(spread(of_mean, sizes, dim, keepdim), max_one(count_of(sizes, dim))))
    return parts[0] if len(parts) == 1 else aten.add.Tensor(*parts)


def logsumexp_gradient(grad: Array, self: Array, result: Array, dim: int | Sequence[int], keepdim: bool) -> Array:
    """Give the gradient of log-sum-exp: the softmax."""
    count = len(shape_of(self))
    most = _with_reduced_dims(result, count, dim, keepdim)
    weights = aten.exp.default(aten.sub.Tensor(self, aten.where.ScalarSelf(aten.isinf.default(most), 0, most)))
    return aten.mul.Tensor(_with_reduced_dims(grad, count, dim, keepdim), weights)


def norm_gradient(
    grad: Array,
    self: Array,
    order: float | None,
    result: Array,
    dim: int | Sequence[int] | None,
    keepdim: bool,
) -> Array:
    """Give the gradient of a vector norm; where the norm is zero and has no gradient, zero."""
    order = 2.0 if order is None else order
    count = len(shape_of(self))
    grad = _with_reduced_dims(grad, count, dim, keepdim)
    norm = _with_reduced_dims(result, count, dim, keepdim)
    if order == 0:
        return aten.zeros_like.default(self)
    if order == 1:
        return aten.mul.Tensor(grad, aten.sign.default(self))
    if order == 2:
        unit = aten.div.Tensor(self, norm)
        return aten.mul.Tensor(grad, aten.masked_fill.Scalar(unit, aten.eq.Scalar(norm, 0), 0))
    size = aten.abs.default(self)
    if math.isinf(order):
        reached = aten.eq.Tensor(size, norm)
        dims = list(wrap_dims(dim, count))
        ties = aten.sum.dim_IntList(reached, dims, True) if dims else aten.ones_like.default(reached, dtype=int64)
        share = aten.div.Tensor(grad, ties)
        return aten.mul.Tensor(aten.mul.Tensor(aten.sign.default(self), reached), share)
    powers = aten.mul.Tensor(aten.sign.default(self), aten.pow.Tensor_Scalar(size, order - 1))
    if order < 1:
        powers = aten.masked_fill.Scalar(powers, aten.eq.Scalar(self, 0), 0)
    slope = aten.div.Tensor(powers, aten.pow.Tensor_Scalar(norm, order - 1))
    return aten.mul.Tensor(grad, aten.masked_fill.Scalar(slope, aten.eq.Scalar(norm, 0), 0))


# Softmax and losses.


def softmax_second(grad: Array, grad_output: Array, output: Array, dim: int) -> Array:
    """Give the gradient that softmax's backward operator sends to softmax's output."""
    total = aten.sum.dim_IntList(aten.mul.Tensor(grad_output, output), [dim], True)
    arrived = aten.sum.dim_IntList(aten.mul.Tensor(grad, output), [dim], True)
    first = aten.mul.Tensor(grad, aten.sub.Tensor(grad_output, total))
    return aten.sub.Tensor(first, aten.mul.Tensor(grad_output, arrived))


def mse_factor(grad: Array, reduction: int) -> float:
    """Give the second derivative of the squared error, divided by the number of elements for a mean."""
    return 2.0 / max(math.prod(shape_of(grad)), 1) if reduction == 1 else 2.0


def mse_slope(grad: Array, self: Array, target: Array, reduction: int) -> Array:
    """Give the derivative of the squared error."""
    return aten.mul.Scalar(aten.sub.Tensor(self, target), mse_factor(grad, reduction))


def _per_element(grad: Array, count: int, reduction: int) -> Array:
    return aten.div.Scalar(grad, max(count, 1)) if reduction == 1 else grad


def bce_with_logits_gradient(
    grad: Array, self: Array, target: Array, weight: Array | None, pos_weight: Array | None, reduction: int
) -> Array:
    """Give the gradient of binary cross entropy with respect to the logits."""
    chance = aten.sigmoid.default(self)
    if pos_weight is None:
        slope = aten.sub.Tensor(chance, target)
    else:
        raised = aten.mul.Tensor(pos_weight, target)
        both = aten.add.Tensor(raised, one_minus(target))
        slope = aten.sub.Tensor(aten.mul.Tensor(both, chance), raised)
    if weight is not None:
        slope = aten.mul.Tensor(slope, weight)
    return aten.mul.Tensor(slope, _per_element(grad, math.prod(shape_of(self)), reduction))


def bce_with_logits_target_gradient(
    grad: Array, self: Array, weight: Array | None, pos_weight: Array | None, reduction: int
) -> Array:
    """Give the gradient of binary cross entropy with respect to the target."""
    slope = aten.neg.default(self)
    if pos_weight is not None:
        slope = aten.sub.Tensor(
            aten.log.default(one_minus(aten.sigmoid.default(self))),
            aten.mul.Tensor(pos_weight, aten.log.default(aten.sigmoid.default(self))),
        )
    if weight is not None:
        slope = aten.mul.Tensor(slope, weight)
    return aten.mul.Tensor(slope, _per_element(grad, math.prod(shape_of(self)), reduction))


def native_dropout_gradient(grad: Array, mask: Array, p: float, train: bool | None) -> Array:
    """Let the gradient through where the elements were kept."""
    if train is False:
        return grad
    return aten.native_dropout_backward.default(grad, mask, 0.0 if p == 1 else 1.0 / (1.0 - p))


# Views.


def slice_gradient(grad: Array, sizes: Sequence[int], dim: int, start: int | None, end: int | None, step: int) -> Array:
    """Put the gradient of a slice into zeros of the input's shape."""
    last = sizes[dim] if end is None else end
    return aten.slice_backward.default(grad, sizes, dim, 0 if start is None else start, last, step)


def _some(grads: Sequence[Array | None]) -> Array:
    return next(grad for grad in grads if grad is not None)


def split_gradient(grads: Sequence[Array | None], sizes: Sequence[int], parts: int | Sequence[int], dim: int) -> Array:
    """Join the gradients of the pieces; a piece without one counts as zeros."""
    where = wrap_dim(dim, len(sizes))
    some = _some(grads)
    if isinstance(parts, int):
        whole = sizes[where]
        lengths = [min(parts, whole - start) for start in range(0, max(whole, 1), parts)] if parts else [whole]
    else:
        lengths = list(parts)
    filled = [
        aten.new_zeros.default(some, (*sizes[:where], length, *sizes[where + 1 :])) if grad is None else grad
        for grad, length in zip(grads, lengths, strict=True)
    ]
    return aten.cat.default(filled, where)


def unbind_gradient(grads: Sequence[Array | None], dim: int) -> Array:
    """Stack the gradients of the parts; a part without one counts as zeros."""
    some = _some(grads)
    return aten.stack.default([aten.zeros_like.default(some) if grad is None else grad for grad in grads], dim)


def _places(like: Array, sizes: Sequence[int], strides: Sequence[int], offset: int) -> Array:
    """Give the place in memory of each element of a layout."""
    device = dc.device(like)
    total = dc.wrap_like(like, aten.full.default((), offset, dtype=int64, device=device))
    for dim, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        line = dc.wrap_like(like, aten.arange.start_step(0, size, 1, dtype=int64, device=device))
        shape = [-1 if each == dim else 1 for each in range(len(sizes))]
        total = aten.add.Tensor(total, aten.reshape.default(aten.mul.Scalar(line, stride), shape))
    return aten.reshape.default(aten.expand.default(total, sizes), (-1,))


def as_strided_gradient(
    grad: Array,
    sizes: Sequence[int],
    strides: Sequence[int],
    offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None,
) -> Array:
    """Add the gradient up in memory, element by element, and read the input's own layout from there.

    Where the input's elements share memory (it was expanded), each gets an equal part of what arrived at the place.
    """
    if 0 in size or 0 in sizes:
        return aten.new_zeros.default(grad, sizes)
    start = offset if storage_offset is None else storage_offset
    ends = [
        begin + sum((length - 1) * step for length, step in zip(lengths, steps, strict=True))
        for begin, lengths, steps in ((offset, sizes, strides), (start, size, stride))
    ]
    low = min(offset, start)
    memory = aten.new_zeros.default(grad, (max(ends) - low + 1,))
    flat = aten.reshape.default(grad, (-1,))
    memory = aten.index_add.default(memory, 0, _places(grad, size, stride, start - low), flat)
    own = _places(grad, sizes, strides, offset - low)
    if any(length > 1 and step == 0 for length, step in zip(sizes, strides, strict=True)):
        shares = aten.index_add.default(
            aten.zeros_like.default(memory), 0, own, aten.new_ones.default(grad, shape_of(own))
        )
        memory = aten.div.Tensor(memory, aten.clamp_min.default(shares, 1))
    return aten.reshape.default(aten.index_select.default(memory, 0, own), sizes)


# Indexing and lists.


def index_add_source_gradient(grad: Array, dim: int, index: Array, sizes: Sequence[int]) -> Array:
    """Give the rows of the gradient that were added to."""
    if not sizes:
        return aten.reshape.default(grad, ()) if not shape_of(grad) else aten.select.int(grad, dim, 0)
    return aten.index_select.default(grad, dim, index)


def take_gradient(grad: Array, sizes: Sequence[int], index: Array) -> Array:
    """Add the gradient to the places it was taken from, in the flattened input."""
    flat = aten.new_zeros.default(grad, (math.prod(sizes),))
    places = aten.reshape.default(index, (-1,))
    places = aten.where.self(aten.lt.Scalar(places, 0), aten.add.Scalar(places, math.prod(sizes)), places)
    return aten.reshape.default(aten.index_add.default(flat, 0, places, aten.reshape.default(grad, (-1,))), sizes)


def masked_select_gradient(grad: Array, sizes: Sequence[int], mask: Array) -> Array:
    """Put the gradient back where the mask selected from."""
    zeros, kept = aten.broadcast_tensors.default([aten.new_zeros.default(grad, sizes), mask])
    return aten.masked_scatter.default(zeros, kept, grad)


def masked_source_gradient(grad: Array, mask: Array, sizes: Sequence[int]) -> Array:
    """Give the gradient at the masked places to the first elements of the source, and zeros to those not used."""
    used = aten.masked_select.default(grad, mask)
    missing = math.prod(sizes) - shape_of(used)[0]
    if missing:
        used = aten.cat.default([used, aten.new_zeros.default(grad, (missing,))], 0)
    return aten.reshape.default(used, sizes)


def embedding_second(grad: Array, indices: Array, padding_idx: int, scale_grad_by_freq: bool) -> Array:
    """Give the gradient of embedding's gradient: the rows that were looked up, none for padding."""
    flat = aten.reshape.default(indices, (-1,))
    rows = aten.index_select.default(grad, 0, flat)
    if padding_idx >= 0:
        rows = aten.masked_fill.Scalar(rows, aten.unsqueeze.default(aten.eq.Scalar(flat, padding_idx), 1), 0)
    return aten.reshape.default(rows, (*shape_of(indices), shape_of(grad)[1]))


def cat_gradient(grad: Array, sizes: Sequence[Sequence[int]], dim: int) -> list[Array]:
    """Cut the gradient at the seams; an empty one-dimensional tensor took no part."""
    where = wrap_dim(dim, len(shape_of(grad)))
    start, pieces = 0, []
    for each in sizes:
        if tuple(each) == (0,):
            pieces.append(aten.new_zeros.default(grad, each))
            continue
        pieces.append(aten.slice.Tensor(grad, where, start, start + each[where]))
        start += each[where]
    return pieces


def repeat_gradient(grad: Array, sizes: Sequence[int], repeats: Sequence[int]) -> Array:
    """Add up the gradients of all repetitions."""
    if 0 in repeats:
        return aten.new_zeros.default(grad, sizes)
    padded = (1,) * (len(repeats) - len(sizes)) + tuple(sizes)
    paired = [length for times, size in zip(repeats, padded, strict=True) for length in (times, size)]
    if not paired:
        return grad
    folded = aten.sum.dim_IntList(aten.reshape.default(grad, paired), list(range(0, len(paired), 2)), False)
    return aten.reshape.default(folded, sizes)
