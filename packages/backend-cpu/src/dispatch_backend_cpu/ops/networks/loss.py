"""The softmax family and losses with their backward operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.errors import DimensionError, OperatorError
from dispatch_aten.shapes import wrap_dim
from dispatch_core.calls import define, make_function

from ...arrays import Array, dtype_of
from ...kernel_table import Kernel, KernelTable
from ...output_specs import OutputSpec, half_as_float, infer_output
from ..pointwise.numpy_formulas import select
from ..reductions.norms import euclidean_distances
from ..support.compiled_kernels import native, native_fold, native_rows
from ..support.constants import NUMBERS, number
from ..support.fast_paths import attempt
from ..support.reduce_ufuncs import FEW_TO_TURN, MAX, MIN, SUM, row_maxima
from ..support.rule_kernels import cast, formula_in_tiles, make_kernel

KERNELS: Final = KernelTable()

_MEAN, _SUM = 1, 2


def _widen(a: Array, spec: OutputSpec) -> Array:
    """Return the input in the dtype to compute in, with at least one dimension."""
    return np.atleast_1d(cast(a, half_as_float(spec.array_dtype)))


def exponents(a: Array, axis: int) -> Any:
    """Return the exponentials of an array over their sum along a dimension."""
    powers = np.exp(a - (row_maxima(a, axis) if a.size >= FEW_TO_TURN else MAX(a, axis, None, None, True)))
    powers /= SUM(powers, axis, None, None, True)
    return powers


def logarithms(a: Array, axis: int) -> Any:
    shifted = a - (row_maxima(a, axis) if a.size >= FEW_TO_TURN else MAX(a, axis, None, None, True))
    shifted -= np.log(SUM(np.exp(shifted), axis, None, None, True))
    return shifted


def _softmax_kernel(name: str, compute: Callable[[Array, int], Any]) -> Kernel:
    def general(spec: OutputSpec, self: Array, dim: int, half_to_float: bool) -> Any:
        a = _widen(self, spec)
        return compute(a, wrap_dim(dim, self.ndim)) if a.size else a

    when = "self.dtype in NUMBERS and not half_to_float and self.size and -(n := self.ndim) <= dim < n"
    kernel = attempt(
        "self, dim, half_to_float",
        f"{when} and self.flags.c_contiguous",
        "run(compute, self, dim)",
        make_kernel(name, general),
        operands="self",
        compute=compute,
    )
    return native_rows(kernel, lambda tape, a: compute(a, -1), "fd0")


def softmax_slope(grad: Array, output: Array, axis: int) -> Any:
    weighted = grad * output
    return weighted - output * SUM(weighted, axis, None, None, True)


def log_softmax_slope(grad: Array, output: Array, axis: int) -> Any:
    return grad - np.exp(output) * SUM(grad, axis, None, None, True)


def _softmax_backward(name: str, compute: Callable[[Array, Array, int], Any]) -> Kernel:
    def general(spec: OutputSpec, grad: Array, output: Array, dim: int, input_dtype: ScalarType) -> Any:
        return compute(_widen(grad, spec), _widen(output, spec), wrap_dim(dim, grad.ndim))

    when = "(dtype := output.dtype) in NUMBERS and grad_output.dtype is dtype and input_dtype is SCALARS[dtype]"
    kernel = attempt(
        "grad_output, output, dim, input_dtype",
        f"{when} and grad_output.shape == output.shape and output.size and -(n := output.ndim) <= dim < n"
        " and grad_output.flags.c_contiguous and output.flags.c_contiguous",
        "run(compute, grad_output, output, dim)",
        make_kernel(name, general),
        operands="grad_output, output",
        compute=compute,
        SCALARS=_SCALARS,
    )
    return native_rows(kernel, lambda tape, grad, output: compute(grad, output, -1), "ffdt", _SCALARS)


_SCALARS: Final = {dtype: dtype_of(np.empty(0, dtype)) for dtype in NUMBERS}


def _select_targets(classes: int, target: Array, ignore_index: int) -> tuple[Array, Array]:
    """Return the targets and which of them count.

    Raises ``DimensionError`` for a target that is not a class.
    """
    counts = target != ignore_index
    wrong = counts & ((target < 0) | (target >= classes))
    if wrong.any():
        raise DimensionError(f"Target {target[wrong][0]} is out of bounds.", argument="target")
    return np.where(counts, target, 0), counts


def _nll_loss_forward(
    spec: Any, self: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int
) -> Any:
    dtype = self.dtype
    rows = np.atleast_2d(cast(self, half_as_float(dtype)))
    chosen, counts = _select_targets(rows.shape[1], np.atleast_1d(target), ignore_index)
    each = np.ones((), rows.dtype) if weight is None else cast(weight, rows.dtype)[chosen]
    weights = np.where(counts, each, number(0, rows))
    losses = np.where(counts, -rows[np.arange(len(rows)), chosen], number(0, rows)) * weights
    if reduction not in (_MEAN, _SUM) and self.ndim == 2:
        return losses, np.zeros((), dtype)
    total = SUM(weights)
    loss = SUM(losses)
    return (loss / total if reduction == _MEAN else loss), total


def _choose(target: Array, classes: int, ignore_index: int) -> tuple[Array, Array | None]:
    """Return targets that are classes, and which are ignored, None for none."""
    # As unsigned numbers the negative ones are the greatest.
    if ignore_index < 0 and MAX(target.view(np.uint64)) < classes:
        return target, None
    ignored = target == ignore_index
    target = np.where(ignored, 0, target)
    if MAX(target.view(np.uint64)) >= classes:
        raise ValueError("a target that is not a class, or is ignored")
    return target, ignored


def nll_of_places(self: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int) -> Any:
    """Return the losses of all places, or their sum or mean, and the sum of their weights; the classes are dimension 1."""
    count, classes, inner = self.shape[0], self.shape[1], target.size // self.shape[0]
    target, ignored = _choose(target.reshape(-1), classes, ignore_index)
    if inner == 1:
        places = np.arange(0, count * classes, classes) + target
    else:
        places = target * inner
        by_image = places.reshape(count, inner)
        by_image += np.arange(inner)
        by_image += np.arange(0, self.size, classes * inner)[:, None]
    losses: Array = np.negative(self.reshape(-1).take(places))
    each = None if weight is None else weight.take(target)
    if ignored is not None:
        zero = number(0, self)
        losses = np.where(ignored, zero, losses)
        each = np.where(ignored, zero, number(1, self) if each is None else each)
    if each is not None:
        losses = losses * each
    if reduction not in (_MEAN, _SUM):
        return losses, np.zeros((), self.dtype)
    loss, total = SUM(losses), self.dtype.type(target.size) if each is None else SUM(each)
    return loss / total if reduction == _MEAN else loss, total


def _nll_loss_backward(
    spec: OutputSpec,
    grad: Array,
    self: Array,
    target: Array,
    weight: Array | None,
    reduction: int,
    ignore_index: int,
    total_weight: Array,
) -> Any:
    dtype = half_as_float(self.dtype)
    rows = np.zeros(self.shape if self.ndim == 2 else (1, *self.shape), dtype)
    chosen, counts = _select_targets(rows.shape[1], np.atleast_1d(target), ignore_index)
    slope = -cast(grad, dtype)
    if reduction == _MEAN:
        slope = slope / cast(total_weight, dtype)
    if weight is not None:
        slope = slope * cast(weight, dtype)[chosen]
    rows[np.arange(len(rows)), chosen] = np.where(counts, slope, np.zeros((), dtype))
    return rows if self.ndim == 2 else rows[0]


def reduce(losses: Array, reduction: int) -> Any:
    """Return the losses themselves, their mean or their sum."""
    if reduction == _MEAN:
        return SUM(losses, None) / losses.dtype.type(losses.size)
    return SUM(losses, None) if reduction == _SUM else losses


def _reduce_traced(tape: Any, losses: Any, reduction: int) -> Any:
    """Do as `reduce` with symbols."""
    if reduction == _MEAN:
        return SUM(losses, None) / number(tape.elements, losses)
    return SUM(losses, None) if reduction == _SUM else losses


def _square_difference(a: Array, b: Array) -> Any:
    difference = a - b
    return difference * difference


def absolute_loss(a: Array, b: Array) -> Any:
    return np.absolute(a - b)


def _smooth_l1(a: Array, b: Array, beta: float) -> Any:
    if beta == 1:
        return _huber(a, b, 1.0)
    size = np.absolute(a - b)
    if not beta:
        return size
    curved = size * size * number(0.5 / beta, a)
    return select(size < number(beta, a), curved, size - number(0.5 * beta, a))


def _huber(a: Array, b: Array, delta: float) -> Any:
    """Return ``least * (size - least / 2)``, which is the parabola where the size is least, and beyond it the line."""
    size = np.absolute(a - b)
    least = np.minimum(size, number(delta, a))
    return (size - least * number(0.5, a)) * least


def _soft_margin(a: Array, b: Array) -> Any:
    return np.log1p(np.exp(-b * a))


#: When two arrays go through a formula at once.
_PLAIN: Final = "target.dtype is self.dtype and target.dtype in NUMBERS and target.shape == self.shape"
_DENSE: Final = "self.flags.c_contiguous and target.flags.c_contiguous"


def make_loss(formula: Callable[..., Any], general: Kernel, options: str = "", *, also: str = "True") -> Kernel:
    """Make the kernel of a loss: at once for two arrays of one shape and dtype, else ``general``.

    The options stand behind the reduction; the formula takes those by position, ``also`` says which of the others it serves.
    """
    by_position = options.partition("*, ")[0]
    names = "".join(f", {each.partition('=')[0]}" for each in by_position.split(", ") if each)

    def compute(self: Array, target: Array, reduction: int, *options: float) -> Any:
        return reduce(formula_in_tiles(formula, (self, target), options), reduction)

    parameters = "self, target, reduction=1" + (f", {options}" if options else "")
    kernel = attempt(
        parameters,
        f"{_PLAIN} and {_DENSE} and {also}",
        f"run(compute, self, target, reduction{names})",
        general,
        operands="self, target",
        compute=compute,
    )

    def trace(tape: Any, *given: Any) -> Any:
        body = [f"return (formula(self, target{names}), reduction) if {also} else NotImplemented"]
        text = define(f"losses({parameters})", body)
        found = make_function(text, "losses with options", {"formula": formula}, is_shared=True)(*given)
        return _reduce_traced(tape, *found)

    return native_rows(kernel, trace, "Ff" + "o" * (1 + len([each for each in by_position.split(", ") if each])))


#: Loss → its formula, the options behind the reduction, and which of them are right.
_LOSSES: Final[dict[str, tuple[Callable[..., Any], str, str]]] = {
    "huber_loss": (_huber, "delta=1.0", "delta > 0"),
    "mse_loss": (_square_difference, "", "True"),
    "smooth_l1_loss": (_smooth_l1, "beta=1.0", "beta >= 0"),
    "soft_margin_loss": (_soft_margin, "", "True"),
}


def _loss_kernel(name: str, formula: Callable[..., Any], options: str, also: str) -> Kernel:
    def general(spec: OutputSpec, self: Array, target: Array, reduction: int = _MEAN, *options: float) -> Any:
        dtype = half_as_float(np.promote_types(self.dtype, target.dtype))
        return reduce(formula(cast(self, dtype), cast(target, dtype), *options), reduction)

    return make_loss(formula, make_kernel(name, general), options, also=also)


def _with_logits(a: Array, b: Array, weight: Array | None = None, pos_weight: Array | None = None) -> Any:
    one = number(1, a)
    # log(1 + exp(-a)) without overflow on either side.
    soft = np.log1p(np.exp(-np.absolute(a))) + np.maximum(-a, number(0, a))
    if pos_weight is not None:
        soft = soft * ((pos_weight - one) * b + one)
    losses = (one - b) * a + soft
    return losses if weight is None else losses * weight


def _cross_entropy_with_logits(
    spec: OutputSpec,
    self: Array,
    target: Array,
    weight: Array | None = None,
    pos_weight: Array | None = None,
    reduction: int = _MEAN,
) -> Any:
    if pos_weight is not None:
        infer_output("sub.Scalar", pos_weight, 1)  # refuses bool
    dtype = half_as_float(spec.array_dtype)
    arrays = [None if each is None else cast(each, dtype) for each in (self, target, weight, pos_weight)]
    return reduce(_with_logits(*arrays), reduction)  # type: ignore[arg-type]  # the first two are arrays


def _square_slope(grad: Array, a: Array, b: Array, reduction: int) -> Any:
    difference = a - b
    return number(2.0 / max(difference.size, 1) if reduction == _MEAN else 2.0, difference) * difference * grad


def _trace_square_slope(tape: Any, grad: Any, a: Any, b: Any, reduction: int) -> Any:
    difference = a - b
    return number(tape.twice_mean if reduction == _MEAN else 2.0, difference) * difference * grad


def _mse_loss_backward(spec: OutputSpec, grad: Array, self: Array, target: Array, reduction: int) -> Any:
    dtype = half_as_float(spec.array_dtype)
    return _square_slope(cast(grad, dtype), cast(self, dtype), cast(target, dtype), reduction)


def nll_slope(
    grad: Array, self: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int, total: Array
) -> Any:
    count, classes = self.shape
    target, ignored = _choose(target, classes, ignore_index)
    slope = np.negative(grad)
    if reduction == _MEAN:
        slope = slope / total
    if weight is not None:
        slope = slope * weight.take(target)
    if ignored is not None:
        slope = np.where(ignored, number(0, self), slope)
    found = np.zeros(self.shape, self.dtype)
    found.reshape(-1)[np.arange(0, count * classes, classes) + target] = slope
    return found


def _binary_cross_entropy(
    spec: OutputSpec, self: Array, target: Array, weight: Array | None = None, reduction: int = _MEAN
) -> Any:
    dtype = half_as_float(self.dtype)
    chance, target = cast(self, dtype), cast(target, dtype)
    for name, numbers in (("input", chance), ("target", target)):
        # nan is neither.
        if numbers.size and not (MIN(numbers, None) >= 0 and MAX(numbers, None) <= 1):
            argument = "self" if name == "input" else name
            raise OperatorError(f"all elements of {name} should be between 0 and 1", argument=argument)
    one, bound = dtype.type(1), dtype.type(-100)
    hit, miss = np.maximum(np.log(chance), bound), np.maximum(np.log1p(-chance), bound)
    losses = (target - one) * miss - target * hit
    return reduce(losses if weight is None else losses * cast(weight, dtype), reduction)


_COMPUTE: Final[dict[str, Kernel]] = {
    "nll_loss_forward": _nll_loss_forward,
    "nll_loss_backward": _nll_loss_backward,
    "binary_cross_entropy": _binary_cross_entropy,
    "mse_loss_backward": _mse_loss_backward,
}
KERNELS.update({name: make_kernel(name, compute) for name, compute in _COMPUTE.items()})
KERNELS.update({name: _loss_kernel(name, *row) for name, row in _LOSSES.items()})
KERNELS["_softmax"] = _softmax_kernel("_softmax", exponents)
KERNELS["_log_softmax"] = _softmax_kernel("_log_softmax", logarithms)

_from_logits: Final = attempt(
    "self, target, weight=None, pos_weight=None, reduction=1",
    f"weight is None and pos_weight is None and {_PLAIN} and {_DENSE}",
    "run(compute, self, target, reduction)",
    make_kernel("binary_cross_entropy_with_logits", _cross_entropy_with_logits),
    operands="self, target",
    compute=lambda self, target, reduction: reduce(formula_in_tiles(_with_logits, (self, target)), reduction),
)
KERNELS["binary_cross_entropy_with_logits"] = native_rows(
    _from_logits, lambda tape, a, b, reduction=_MEAN: _reduce_traced(tape, _with_logits(a, b), reduction), "Ff--o"
)
KERNELS["_softmax_backward_data"] = _softmax_backward("_softmax_backward_data", softmax_slope)
KERNELS["_euclidean_dist"] = make_kernel("_euclidean_dist", euclidean_distances)
KERNELS["_log_softmax_backward_data"] = _softmax_backward("_log_softmax_backward_data", log_softmax_slope)
_squares_backward: Final = attempt(
    "grad_output, self, target, reduction",
    f"{_PLAIN} and {_DENSE} and grad_output.dtype is self.dtype and not grad_output.ndim",
    "run(compute, grad_output, self, target, reduction)",
    KERNELS["mse_loss_backward"],
    compute=_square_slope,
)
KERNELS["mse_loss_backward"] = native_rows(_squares_backward, _trace_square_slope, "sFfo")
_ROWS: Final = (
    "self.ndim == 2 and self.dtype in NUMBERS and self.size and target.dtype is INT64 and target.shape == self.shape[:1]"
    " and (weight is None or (weight.dtype is self.dtype and weight.shape == self.shape[1:]))"
)
_nll_backward: Final = attempt(
    "grad_output, self, target, weight, reduction, ignore_index, total_weight",
    f"{_ROWS} and grad_output.dtype is self.dtype is total_weight.dtype and total_weight.size == 1"
    " and grad_output.shape == (() if reduction else target.shape)",
    "run(compute, grad_output, self, target, weight, reduction, ignore_index, total_weight)",
    KERNELS["nll_loss_backward"],
    compute=nll_slope,
    INT64=np.dtype(np.int64),
)
_nll_forward: Final = attempt(
    "self, target, weight, reduction, ignore_index",
    f"{_ROWS} and self.flags.c_contiguous",
    "run(compute, self, target, weight, reduction, ignore_index)",
    KERNELS["nll_loss_forward"],
    compute=nll_of_places,
    INT64=np.dtype(np.int64),
)
KERNELS["nll_loss_backward"] = native("nll gradient", _nll_backward, None, NUMBERS)
KERNELS["nll_loss_forward"] = native_fold(_nll_forward, np.add, NUMBERS, "nll")
