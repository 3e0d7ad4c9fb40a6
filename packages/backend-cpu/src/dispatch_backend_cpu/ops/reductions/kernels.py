"""Reductions.

``float16`` is accumulated in ``float32`` and integers in ``int64``, as torch does. A wanted dtype converts the input first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.shapes import wrap_dim, wrap_dims

from ...arrays import Array, numpy_dtype
from ...kernel_table import KernelTable
from ...output_specs import OutputSpec, half_as_float
from ..support.compiled_kernels import native, native_fold
from ..support.constants import NUMBERS, number
from ..support.fast_paths import attempt
from ..support.reduce_ufuncs import ALL, ANY, MANY_FACTORS, MAX, MIN, PROD, SUM, count, product_along, product_of
from ..support.rule_kernels import cast, make_kernel
from .norms import deviation, is_safe, length, root, safe_places, scale_down, sum_powers, variance

KERNELS: Final = KernelTable()

Dims = int | Sequence[int] | None


def _axes(a: Array, dim: Dims, *, all_if_empty: bool = True) -> tuple[int, ...]:
    """Return NumPy's axes; an array without dimensions has none to name."""
    return wrap_dims(dim, a.ndim, all_if_empty=all_if_empty) if a.ndim else ()


def _accumulating(fold: Any) -> Callable[..., Any]:
    """Make sum or prod from a ufunc's ``reduce``."""

    def compute(spec: OutputSpec, a: Array, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        wanted = spec.array_dtype
        wide = half_as_float(wanted)
        if dtype is not None:
            a = cast(a, wanted)
        a = cast(a, wide)
        return fold(a, _axes(a, dim), wide, None, keepdim)

    return compute


def _mean(spec: OutputSpec, a: Array, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    a = cast(a, half_as_float(spec.array_dtype))
    axes = _axes(a, dim)
    return SUM(a, axes, None, None, keepdim) / a.dtype.type(math.prod(a.shape[axis] for axis in axes))


_PLAIN_SUM: Final = frozenset(np.dtype(char) for char in "fdlFD")


def _extremum(fold: Any) -> Callable[..., Any]:
    def compute(spec: OutputSpec, a: Array, dim: Dims = (), keepdim: bool = False) -> Any:
        return fold(a, _axes(a, dim), None, None, keepdim)

    return compute


def _index_of(choose: Any) -> Callable[..., Any]:
    def compute(spec: OutputSpec, a: Array, dim: int | None = None, keepdim: bool = False) -> Any:
        if not a.ndim:
            return np.zeros((), np.int64)
        return choose(a, None if dim is None else wrap_dim(dim, a.ndim), keepdims=keepdim)

    return compute


def _extremum_with_index(choose: Any) -> Callable[..., Any]:
    def compute(spec: Any, a: Array, dim: int, keepdim: bool = False) -> Any:
        if not a.ndim:
            return a.copy(), np.zeros((), np.int64)
        axis = wrap_dim(dim, a.ndim)
        indices = choose(a, axis=axis, keepdims=True)
        values = np.take_along_axis(a, indices, axis)
        return (values, indices) if keepdim else (values.squeeze(axis), indices.squeeze(axis))

    return compute


def _truth(fold: Any) -> Callable[..., Any]:
    def compute(spec: OutputSpec, a: Array, dim: Dims = None, keepdim: bool = False) -> Any:
        return fold(a.astype(np.bool_), _axes(a, dim, all_if_empty=False), None, None, keepdim)

    return compute


def _moments(name: str, a: Array, axes: tuple[int, ...], correction: float, keepdim: bool) -> tuple[Any, Any]:
    """Return variance and mean by two passes, the mean first."""
    wide = cast(a, half_as_float(a.dtype))
    count = math.prod(wide.shape[axis] for axis in axes)
    if name and count <= correction:
        from dispatch_aten.shapes import warn_of_freedom  # loads the rules

        warn_of_freedom(name)
    real = number if wide.dtype in NUMBERS else _convert
    mean = SUM(wide, axes, None, None, True) / real(count, wide.real)
    deviation = wide - mean
    squares = (deviation * deviation.conj()).real if wide.dtype.kind == "c" else deviation * deviation
    return SUM(squares, axes, None, None, keepdim) / real(max(count - correction, 0), wide.real), mean


def _convert(value: float, like: Array) -> Any:
    return like.dtype.type(value)


def _var_mean(
    spec: Any,
    a: Array,
    dim: Dims = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    name: str = "var_mean",
) -> tuple[Any, Any]:
    var, mean = _moments(name, a, _axes(a, dim), 1.0 if correction is None else correction, keepdim)
    return var, mean if keepdim else mean.reshape(np.shape(var))


def _var(spec: Any, *args: Any, **kwargs: Any) -> Any:
    return _var_mean(spec, *args, **{"name": "var", **kwargs})[0]


def _std(spec: Any, a: Array, dim: Dims = None, **options: Any) -> Any:
    found, axes, correction = _var(spec, a, dim, **options, name="std"), _axes(a, dim), options.get("correction")
    # Without degrees of freedom it was divided by 0, whatever the scale.
    is_free = math.prod(a.shape[axis] for axis in axes) > (1.0 if correction is None else correction)
    if is_safe(found) or not is_free:
        return np.sqrt(found)
    wide = cast(a, half_as_float(a.dtype))
    scaled, exponents = scale_down(wide, axes)
    again = np.sqrt(_var(spec, scaled, dim, **options, name=""))
    return np.where(safe_places(found), np.sqrt(found), np.ldexp(again, exponents.reshape(np.shape(again))))


def _vector_norm(
    spec: OutputSpec,
    a: Array,
    ord: Any = 2,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: ScalarType | None = None,
) -> Any:
    a = cast(a, half_as_float(a.dtype if dtype is None else numpy_dtype(dtype)))
    axes = _axes(a, dim)
    if ord == 2 and a.dtype in NUMBERS:
        if len(axes) == a.ndim and a.flags.forc:
            return length(a)
        return root(SUM(a * a, axes, None, None, keepdim), a, 2, axes, keepdim)
    size = np.absolute(a)
    if ord in (math.inf, -math.inf):
        fold = MAX if ord > 0 else MIN
        return fold(size, axes, None, None, keepdim, 0.0 if not a.size else np._NoValue)
    if ord == 0:
        return SUM((a != 0).astype(size.dtype), axes, None, None, keepdim)
    if ord == 1:
        return SUM(size, axes, None, None, keepdim)
    return root(sum_powers(size, ord, axes, keepdim), size, ord, axes, keepdim)


def _norm(
    spec: OutputSpec, a: Array, p: Any = 2, dim: Dims = None, keepdim: bool = False, *, dtype: ScalarType | None = None
) -> Any:
    return _vector_norm(spec, a, 2 if p is None else p, dim, keepdim, dtype=dtype)


def _logsumexp(spec: OutputSpec, a: Array, dim: Dims, keepdim: bool = False) -> Any:
    a = cast(a, half_as_float(spec.array_dtype))
    axes = _axes(a, dim)
    if not a.size:
        return np.log(SUM(np.exp(a), axes, None, None, keepdim))
    top = MAX(a.real, axes, None, None, True)
    top = np.where(np.isfinite(top), top, np.zeros((), top.dtype))
    total = np.log(SUM(np.exp(a - top), axes, None, None, True)) + top
    return total if keepdim else total.reshape(spec.shape)


def _count_nonzero(spec: OutputSpec, a: Array, dim: Dims = None) -> Any:
    return SUM(a != 0, _axes(a, dim), np.int64)


def _aminmax(spec: Any, a: Array, *, dim: int | None = None, keepdim: bool = False) -> Any:
    axes = _axes(a, dim)
    return MIN(a, axes, None, None, keepdim), MAX(a, axes, None, None, keepdim)


def _hash(spec: OutputSpec, a: Array, dim: Dims = (), *, keepdim: bool = False, mode: int = 0) -> Any:
    """Combine the bits of all elements, as 64-bit floats or integers, by exclusive or."""
    wide = a.astype(np.float64).view(np.uint64) if a.dtype.kind not in "biu" else a.astype(np.int64).view(np.uint64)
    fold: Any = np.bitwise_xor.reduce
    return fold(wide, _axes(a, dim), None, None, keepdim)


_COMPUTE: Final[dict[str, Callable[..., Any]]] = {
    "prod": _accumulating(PROD),
    "prod.dim_int": _accumulating(PROD),
    "mean": _mean,
    "mean.dim": _mean,
    "amax": _extremum(MAX),
    "amin": _extremum(MIN),
    "max": _extremum(MAX),
    "min": _extremum(MIN),
    "max.dim": _extremum_with_index(np.ndarray.argmax),
    "min.dim": _extremum_with_index(np.ndarray.argmin),
    "argmax": _index_of(np.ndarray.argmax),
    "argmin": _index_of(np.ndarray.argmin),
    "any": _truth(ANY),
    "any.dim": _truth(ANY),
    "any.dims": _truth(ANY),
    "all": _truth(ALL),
    "all.dim": _truth(ALL),
    "all.dims": _truth(ALL),
    "var.correction": _var,
    "std.correction": _std,
    "var_mean.correction": _var_mean,
    "linalg_vector_norm": _vector_norm,
    "norm.Scalar": _norm,
    "norm.ScalarOpt_dim": _norm,
    "norm.ScalarOpt_dtype": _norm,
    "norm.ScalarOpt_dim_dtype": _norm,
    "logsumexp": _logsumexp,
    "count_nonzero": _count_nonzero,
    "count_nonzero.dim_IntList": _count_nonzero,
    "aminmax": _aminmax,
    "hash_tensor": _hash,
}

KERNELS["sum"], KERNELS["sum.dim_IntList"] = (
    make_kernel(name, _accumulating(SUM), in_float=True) for name in ("sum", "sum.dim_IntList")
)
KERNELS.update({name: make_kernel(name, compute, in_float=name != "hash_tensor") for name, compute in _COMPUTE.items()})
# ``any`` and ``all`` without dims reduce everything; with an empty list they reduce nothing.
for _name, _fold in (("any", ANY), ("all", ALL)):
    KERNELS[_name] = make_kernel(_name, lambda spec, a, fold=_fold: fold(a.astype(np.bool_), None), in_float=True)


def _divide(total: Any, count: int) -> Any:
    """Divide a sum by a Python number, an array by one of its dtype."""
    return total / (count if total.__class__ is not np.ndarray else NUMBERS[total.dtype][count])


def _mean_of(a: Array, axes: Any, keepdim: bool = False) -> Any:
    total = SUM(a, axes, None, None, keepdim)
    return _divide(total, a.size // total.size)


def _choose(choose: Any, a: Array, dim: int) -> Any:
    """Return the extreme values along a dimension and their places."""
    places = choose(a, dim)
    if a.ndim == 1:
        return a.take(places), places
    width = a.shape[dim]
    if (dim == -1 or dim == a.ndim - 1) and a.flags.c_contiguous:
        rows = np.arange(0, a.size, width)
        rows += places.reshape(-1)
        return a.reshape(-1).take(rows).reshape(places.shape), places
    return np.take_along_axis(a, np.expand_dims(places, dim), dim).squeeze(dim), places


_FLOATS: Final = frozenset(map(np.dtype, "fd"))
#: The dtypes that are ordered in NumPy as in torch, and those whose truth is a bool.
_ORDERED: Final = frozenset(map(np.dtype, "fdbhilB"))
_DECIDED: Final = frozenset(map(np.dtype, "?fdbhil"))
#: The results that are laid out as torch does without a look at the rule.
_LAID_OUT: Final = "r.ndim == 0 or (r.size and (r.ndim == 1 or (r.flags.c_contiguous and 1 not in r.shape)))"
_AXES: Final = "dim if isinstance(dim, int) else tuple(dim)"
_ARG_EXTREMA: Final = {"max": np.ndarray.argmax, "min": np.ndarray.argmin}

#: The reductions that are one call for some dtypes: parameters, a condition, the call, the function, the dtypes. Without
#: elements the general kernels decide.
_AT_ONCE: Final[dict[str, tuple[str, str, str, Any, frozenset[np.dtype[Any]]]]] = {
    "sum": ("self, *, dtype=None", "dtype is None", "fold(self, None)", SUM, _PLAIN_SUM),
    "sum.dim_IntList": (
        "self, dim, keepdim=False, *, dtype=None",
        "dtype is None and dim",
        f"fold(self, {_AXES}, None, None, keepdim)",
        SUM,
        _PLAIN_SUM,
    ),
    "prod": ("self, *, dtype=None", "dtype is None", "fold(self, None)", product_of, _PLAIN_SUM),
    "prod.dim_int": (
        "self, dim, keepdim=False, *, dtype=None",
        "dtype is None and self.size < MANY_FACTORS",
        "fold(self, dim, None, None, keepdim)",
        PROD,
        _PLAIN_SUM,
    ),
    "mean": ("self, *, dtype=None", "dtype is None and self.size", "fold(self, None)", _mean_of, _FLOATS),
    "mean.dim": (
        "self, dim, keepdim=False, *, dtype=None",
        "dtype is None and dim and self.size",
        f"fold(self, {_AXES}, keepdim)",
        _mean_of,
        _FLOATS,
    ),
    "linalg_vector_norm": (
        "self, ord=2, dim=None, keepdim=False, *, dtype=None",
        "ord == 2 and dim is None and not keepdim and dtype is None and self.flags.forc",
        "fold(self)",
        length,
        _FLOATS,
    ),
    "count_nonzero": ("self, dim=None", "dim is None", "fold(self)", count, _DECIDED),
}
for _name, _fold in (("var", variance), ("std", deviation)):
    _AT_ONCE[f"{_name}.correction"] = (
        "self, dim=None, *, correction=None, keepdim=False",
        "dim is None and not keepdim and type(correction) in PLAIN and self.size > correction",
        "fold(self, correction)",
        _fold,
        _FLOATS,
    )
for _name, _fold in (("max", MAX), ("min", MIN)):
    _AT_ONCE[_name] = "self", "self.size", "fold(self, None)", _fold, _ORDERED
    _AT_ONCE[f"a{_name}"] = (
        "self, dim=(), keepdim=False",
        "dim and self.size",
        f"fold(self, {_AXES}, None, None, keepdim)",
        _fold,
        _ORDERED,
    )
    _AT_ONCE[f"arg{_name}"] = (
        "self, dim=None, keepdim=False",
        "not keepdim and self.size",
        "fold(self, dim)",
        _ARG_EXTREMA[_name],
        _ORDERED,
    )
for _name, _fold in (("any", ANY), ("all", ALL)):
    _AT_ONCE[_name] = "self", "True", "fold(self, None)", _fold, _DECIDED
    _AT_ONCE[f"{_name}.dim"] = (
        "self, dim, keepdim=False",
        "True",
        "fold(self, dim, None, None, keepdim)",
        _fold,
        _DECIDED,
    )
KERNELS["prod.dim_int"] = attempt(
    "self, dim, keepdim=False, *, dtype=None",
    "dtype is None and self.dtype in dtypes",
    "run(product, self, dim, keepdim)",
    KERNELS["prod.dim_int"],
    accept=_LAID_OUT,
    rule="prod.dim_int",
    product=product_along,
    dtypes=_PLAIN_SUM,
)
KERNELS["aminmax"] = attempt(
    "self, *, dim=None, keepdim=False",
    "dim is None and not keepdim and self.dtype in dtypes and self.size",
    "run(extremes, self)",
    KERNELS["aminmax"],
    accept="True",
    rule="aminmax",
    extremes=lambda a: (MIN(a, None), MAX(a, None)),
    dtypes=_ORDERED,
)
#: The ufunc that a function of a row folds by, where it is not the ufunc's own method.
_FOLDED_BY: Final[dict[Any, Any]] = {_mean_of: np.add, product_of: np.multiply}
for _name, (_parameters, _when, _call, _fold, _dtypes) in _AT_ONCE.items():
    _kernel = attempt(
        _parameters,
        f"self.dtype in dtypes and {_when}",
        f"run({_call.replace('(', ', ', 1)}",
        KERNELS[_name],
        accept=_LAID_OUT,
        rule=_name,
        fold=_fold,
        dtypes=_dtypes,
        MANY_FACTORS=MANY_FACTORS,
    )
    _ufunc = _FOLDED_BY.get(_fold, getattr(_fold, "__self__", None))
    KERNELS[_name] = native_fold(_kernel, _ufunc, _dtypes, along="dim" in _parameters, mean=_fold is _mean_of)
for _name, _fold in _ARG_EXTREMA.items():
    _is_least = _name == "min"
    KERNELS[f"arg{_name}"] = native("places", KERNELS[f"arg{_name}"], None, _ORDERED, swapped=_is_least)
    _kernel = attempt(
        "self, dim, keepdim=False",
        "not keepdim and self.dtype in dtypes and self.size and self.flags.c_contiguous"
        " and (0 < self.ndim < 3 or (self.ndim and 1 not in self.shape))",
        "choose(fold, self, dim)",
        KERNELS[f"{_name}.dim"],
        choose=_choose,
        fold=_fold,
        dtypes=_ORDERED,
    )
    KERNELS[f"{_name}.dim"] = native("extremes", _kernel, None, _ORDERED, swapped=_is_least)
