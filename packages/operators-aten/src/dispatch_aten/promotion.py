"""Type promotion: which dtype an operator computes in and which it returns.

Torch ranks operands in three categories (source: ``at::native::result_type``): tensors with dimensions, tensors without,
and Python numbers ("wrapped numbers"). A lower category decides only when its *kind* is higher: an ``int64`` tensor plus
``2.5`` is the default float type, a ``float16`` tensor plus a ``float64`` tensor without dimensions is ``float16``.

>>> from dispatch_aten.dtypes import float16, float64, int64
>>> promote_types(float16, int64)
torchlike.float16
>>> result_type(Operand.with_dims(int64), 2.5)
torchlike.float32
>>> result_type(Operand.with_dims(float16), Operand.zero_dim(float64))
torchlike.float16
"""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from typing import Final, NamedTuple, Protocol, TypeAlias

from .dtypes import FLOAT8, ScalarType, bfloat16, bool_, float32, get_default_dtype, int64, uint8
from .errors import ArgumentTypeError, DtypeError

__all__ = [
    "ACCUMULATED_IN_OUTPUT",
    "EXACT_OUTPUT",
    "RULES",
    "Category",
    "Operand",
    "Promotion",
    "can_cast",
    "check_output_dtype",
    "computation_type",
    "operand",
    "promote_types",
    "result_of",
    "result_type",
    "rule_for",
    "scalar_dtype",
]

Number: TypeAlias = bool | int | float | complex


class _TensorLike(Protocol):
    """What promotion reads of a tensor, array description or ``TensorMeta``."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> ScalarType: ...


class Category(IntEnum):
    """An operand's rank in promotion; the higher one decides."""

    WRAPPED = 0
    ZERO_DIM = 1
    DIMENSIONED = 2


class Operand(NamedTuple):
    """A dtype and the category in which it takes part in promotion."""

    dtype: ScalarType
    category: Category

    @classmethod
    def with_dims(cls, dtype: ScalarType) -> Operand:
        """Describe a tensor with at least one dimension."""
        return cls(dtype, Category.DIMENSIONED)

    @classmethod
    def zero_dim(cls, dtype: ScalarType) -> Operand:
        """Describe a tensor without dimensions."""
        return cls(dtype, Category.ZERO_DIM)


def operand(value: Operand | _TensorLike | Number) -> Operand:
    """Classify a tensor (anything with ``shape`` and ``dtype``) or a Python number for promotion."""
    if isinstance(value, Operand):
        return value
    if isinstance(value, (bool, int, float, complex)):
        return Operand(scalar_dtype(value), Category.WRAPPED)
    return Operand(value.dtype, Category.DIMENSIONED if value.shape else Category.ZERO_DIM)


def scalar_dtype(value: object) -> ScalarType:
    """Return the dtype that a tensor made from the Python number ``value`` has (source: ``torch.tensor``).

    >>> scalar_dtype(True), scalar_dtype(3), scalar_dtype(2.5), scalar_dtype(1j)
    (torchlike.bool, torchlike.int64, torchlike.float32, torchlike.complex64)
    """
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return int64
    if isinstance(value, float):
        return get_default_dtype()
    if isinstance(value, complex):
        return get_default_dtype().to_complex()
    raise ArgumentTypeError(f"expected a number, but got {type(value).__name__}")


_BAREBONES_UNSIGNED: Final = frozenset({ScalarType.UInt16, ScalarType.UInt32, ScalarType.UInt64})
_INTEGERS: Final = (ScalarType.Char, ScalarType.Short, ScalarType.Int, ScalarType.Long)
_FLOATS: Final = (ScalarType.Half, ScalarType.Float, ScalarType.Double)


@cache
def promote_types(a: ScalarType, b: ScalarType) -> ScalarType:
    """Return the smallest type that holds both, by torch's table (source: ``torch.promote_types``).

    Raises ``DtypeError`` for ``uint16``, ``uint32`` and ``uint64`` with another integer, ``bool`` or complex type, and for
    8-bit floats with any other type.
    """
    if a == b:
        return a
    if a in FLOAT8 or b in FLOAT8:
        raise DtypeError(f"Promotion for Float8 Types is not supported, attempted to promote {a.name} and {b.name}")
    if a in _BAREBONES_UNSIGNED or b in _BAREBONES_UNSIGNED:
        if a.is_floating_point:
            return a
        if b.is_floating_point:
            return b
        raise DtypeError(
            f"Promotion for uint16, uint32, uint64 types is not supported, attempted to promote {a.name} and {b.name}"
        )
    if a.is_complex or b.is_complex:
        real = _promote_floats(a.to_real(), b.to_real())
        return real.to_complex()
    if a.is_floating_point or b.is_floating_point:
        return _promote_floats(a, b)
    return _promote_integers(a, b)


def _promote_floats(a: ScalarType, b: ScalarType) -> ScalarType:
    """Promote where at least one type is floating point; the other may be an integer type, which then does not count."""
    if not a.is_floating_point:
        return b
    if not b.is_floating_point:
        return a
    if bfloat16 in (a, b):
        other = b if a == bfloat16 else a
        return max(other, float32, key=_FLOATS.index)
    return max(a, b, key=_FLOATS.index)


def _promote_integers(a: ScalarType, b: ScalarType) -> ScalarType:
    if a == bool_:
        return b
    if b == bool_:
        return a
    if uint8 in (a, b):
        signed = b if a == uint8 else a
        return max(signed, ScalarType.Short, key=_INTEGERS.index)
    return max(a, b, key=_INTEGERS.index)


def can_cast(from_: ScalarType, to: ScalarType) -> bool:
    """Return whether a result of type ``from_`` may be stored in a tensor of type ``to`` (source: ``torch.can_cast``).

    The kind may not be lost: complex → real, float → integer, anything → bool. Precision may.

    >>> from dispatch_aten.dtypes import float16, float32, float64, int64
    >>> can_cast(float64, float16), can_cast(float32, int64)
    (True, False)
    """
    if from_.is_complex and not to.is_complex:
        return False
    if from_.is_floating_point and not to.is_differentiable:
        return False
    return from_ == bool_ or to != bool_


def _combine(higher: ScalarType | None, lower: ScalarType | None) -> ScalarType | None:
    """Let a lower category change the type of a higher one only where its kind is higher."""
    if higher is None or lower is None:
        return lower if higher is None else higher
    if higher.is_complex:
        return higher
    if higher.is_floating_point:
        return higher.to_complex() if lower.is_complex else higher
    if higher == bool_ or lower.is_floating_point or lower.is_complex:
        return promote_types(higher, lower)
    return higher


def result_type(*operands: Operand | _TensorLike | Number) -> ScalarType:
    """Return the dtype in which an element-wise operator computes on ``operands`` (source: ``torch.result_type``)."""
    by_category: list[ScalarType | None] = [None, None, None]
    for value in operands:
        dtype, category = operand(value)
        known = by_category[category]
        by_category[category] = dtype if known is None else promote_types(known, dtype)
    wrapped, zero_dim, dimensioned = by_category
    # A wrapped number's own precision never counts: a float takes the default dtype (see scalar_dtype), and so does
    # a 0-d tensor that a frontend marks as standing for a number.
    if wrapped is not None and wrapped.is_floating_point:
        wrapped = get_default_dtype()
    elif wrapped is not None and wrapped.is_complex:
        wrapped = get_default_dtype().to_complex()
    found = _combine(dimensioned, _combine(zero_dim, wrapped))
    if found is None:
        raise ArgumentTypeError("result_type(): at least one operand is needed")
    return found


class Promotion(IntEnum):
    """How an operator gets from its operands' common dtype to the dtype it computes in and the one it returns."""

    SAME = 0
    """Computes and returns the common dtype: ``add``, ``mul``, ``maximum``."""
    INT_TO_FLOAT = 1
    """Integers and ``bool`` are computed and returned in the default float type: ``exp``, ``div``, ``sigmoid``."""
    TO_BOOL = 2
    """Computes in the common dtype, returns ``bool``: ``eq``, ``logical_and``, ``isnan``."""
    INT_TO_LONG = 3
    """Integers and ``bool`` are accumulated in ``int64``: ``sum``, ``prod``, ``cumsum``."""
    BOOL_TO_LONG = 4
    """``bool`` is computed as ``int64``: ``pow``."""
    COMPLEX_TO_REAL = 5
    """Complex inputs have results of their real type: ``abs``, ``norm``."""
    ALWAYS_LONG = 6
    """Returns ``int64`` for every input: ``argmax``, ``count_nonzero``."""


def computation_type(rule: Promotion, common: ScalarType) -> ScalarType:
    """Return the dtype that an operator under ``rule`` computes in.

    >>> from dispatch_aten.dtypes import bool_, int64
    >>> computation_type(Promotion.INT_TO_FLOAT, int64), computation_type(Promotion.INT_TO_LONG, bool_)
    (torchlike.float32, torchlike.int64)
    """
    if rule is Promotion.INT_TO_FLOAT and not common.is_differentiable:
        return get_default_dtype()
    if rule is Promotion.INT_TO_LONG and not common.is_differentiable:
        return int64
    if rule is Promotion.BOOL_TO_LONG and common == bool_:
        return int64
    return common


def result_of(rule: Promotion, common: ScalarType) -> ScalarType:
    """Return the dtype that an operator under ``rule`` returns, from its operands' common dtype.

    >>> from dispatch_aten.dtypes import complex64, int64
    >>> result_of(Promotion.TO_BOOL, int64), result_of(Promotion.COMPLEX_TO_REAL, complex64)
    (torchlike.bool, torchlike.float32)
    """
    if rule is Promotion.TO_BOOL:
        return bool_
    if rule is Promotion.ALWAYS_LONG:
        return int64
    if rule is Promotion.COMPLEX_TO_REAL:
        return common.to_real()
    return computation_type(rule, common)


_RULES: Final = {
    Promotion.INT_TO_FLOAT: (
        "div true_divide exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal sin cos tan asin acos atan atan2 "
        "sinh cosh tanh asinh acosh atanh sigmoid erf erfc logsumexp logit xlogy sinc i0 lgamma digamma polygamma erfinv "
        "copysign logit_backward special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 "
        "special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v "
        "special_chebyshev_polynomial_w special_entr special_erfcx special_hermite_polynomial_h "
        "special_hermite_polynomial_he special_i0e special_i1 special_i1e special_laguerre_polynomial_l "
        "special_legendre_polynomial_p special_log_ndtr special_modified_bessel_i0 special_modified_bessel_i1 "
        "special_modified_bessel_k0 special_modified_bessel_k1 special_ndtri special_scaled_modified_bessel_k0 "
        "special_scaled_modified_bessel_k1 special_shifted_chebyshev_polynomial_t "
        "special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v "
        "special_shifted_chebyshev_polynomial_w special_spherical_bessel_j0 special_xlog1py special_zeta"
    ),
    Promotion.TO_BOOL: (
        "eq ne lt le gt ge logical_and logical_or logical_xor logical_not isnan isinf isfinite isclose any all signbit "
        "isposinf isneginf"
    ),
    Promotion.INT_TO_LONG: "sum prod cumsum cumprod nansum",
    Promotion.BOOL_TO_LONG: "pow",
    Promotion.COMPLEX_TO_REAL: "abs norm linalg_vector_norm real imag angle",
    Promotion.ALWAYS_LONG: "argmax argmin argsort count_nonzero nonzero",
}

RULES: Final[dict[str, Promotion]] = {name: rule for rule, names in _RULES.items() for name in names.split()}
"""The promotion rule of each operator, by its name without namespace and overload; others compute in their common dtype."""


def rule_for(operator: str) -> Promotion:
    """Return the promotion rule of an operator, by any of its spellings; unknown ones compute in their common dtype.

    >>> rule_for("aten::sum.dim_IntList").name, rule_for("div_.Tensor").name
    ('INT_TO_LONG', 'INT_TO_FLOAT')
    """
    name = operator.rpartition("::")[2].partition(".")[0]
    return RULES.get(name) or RULES.get(name.removesuffix("_"), Promotion.SAME)


EXACT_OUTPUT: Final = frozenset(
    (
        "_euclidean_dist _log_softmax _log_softmax_backward_data _softmax _softmax_backward_data abs absolute addbmm"
        " addmm addmv alias_copy amax amin aminmax argmax argmin argsort as_strided_copy avg_pool2d avg_pool3d baddbmm"
        " binary_cross_entropy bitwise_not bmm bucketize ceil celu clamp clamp_max clamp_min clip complex count_nonzero"
        " cross cummax cummin detach_copy diag diagonal_copy diagonal_scatter dot elu expand_copy float_power floor"
        " frac frexp gather gelu hardshrink hardsigmoid hardswish hardtanh heaviside histc histogram index index_add"
        " index_copy index_reduce index_select inner isin isneginf isposinf kthvalue leaky_relu lerp linalg_vector_norm"
        " linear log_sigmoid log_softmax logcumsumexp lu_solve lu_unpack masked_select matmul max median min mish mm"
        " mode msort multi_margin_loss multilabel_margin_loss multinomial mv nan_to_num nanmedian nanquantile"
        " narrow_copy native_batch_norm neg"
        " negative nll_loss nll_loss2d nll_loss_backward nll_loss_forward nonzero norm ormqr permute_copy polar qr"
        " quantile renorm round scatter scatter_add searchsorted select_copy select_scatter sign signbit silu slice_copy"
        " slice_scatter soft_margin_loss softmax softplus softshrink sort special_round squeeze_copy svd t_copy take"
        " take_along_dim tensordot topk transpose_copy tril triu trunc unfold_copy unsqueeze_copy var_mean vdot view_copy"
        " where"
    ).split()
)
"""Operators whose ``out=`` tensors must have the results' own dtypes; others convert into them."""

_FOUND_OUTPUT: Final = frozenset(
    "abs absolute bitwise_not ceil clamp clamp_max clamp_min clip conj_physical fix floor frac neg negative round sgn sign"
    " special_round trunc".split()
)
"""Those of them, and further ones, whose kernels find that the dtype is another one."""

_SCALAR_TYPE: Final = "expected scalar_type {own} but found {out}"
_EXACT_TEXTS: Final = {
    **dict.fromkeys(
        ("complex", "polar"), "Expected object of scalar type {own} but got scalar type {out} for argument 'out'"
    ),
    **dict.fromkeys(("signbit", "isposinf", "isneginf"), "{op} does not support non-boolean outputs."),
    **dict.fromkeys(("cummax", "cummin", "logcumsumexp", "native_batch_norm"), _SCALAR_TYPE),
    **dict.fromkeys(("quantile", "nanquantile"), "{op}() out tensor must be same dtype as the input tensor"),
    **dict.fromkeys(("histc", "histogram"), "{op}: the output should have the input's dtype {own}, but got {out}"),
    **dict.fromkeys(
        ("bucketize", "searchsorted"), "{op}(): the output's dtype must be {own}, by out_int32, but got {out}"
    ),
    **dict.fromkeys(
        ("inner", "tensordot"),
        "tensordot: Expected the output tensor to have dtype {own}, but got an output tensor with dtype {out}",
    ),
    "addbmm": "self and mat2 must have the same dtype, but got {out} and {own}",
    "float_power": "the output given to float_power has dtype {out} but the operation's result requires dtype {own}",
    "heaviside": "heaviside is not yet implemented for tensors with different dtypes.",
    **dict.fromkeys(("index_select", "masked_select"), "{op}(): self and result must have the same scalar type"),
    "kthvalue": "output must be of scalar type {own}, but got {out}",
    "mode": "expected scalar type '{own}' but got '{out}' for an output",
    "multinomial": "multinomial expects Long tensor out, got: {out}",
    "nan_to_num": "nan_to_num: dtype of out: {out} should be same as input: {own}",
    "nonzero": "nonzero: Expected out tensor to have scalar type {own} but got scalar type {out}",
    "ormqr": "ormqr: Expected input and result to have the same dtype, but input has dtype {own} and result has dtype {out}",
    **dict.fromkeys(("dot", "vdot"), "result dtype {out} does not match input dtype {own}"),
}
"""What some of them say."""

_CONVERTED_OUTPUT: Final = frozenset(
    "clamp.Tensor_out clip.Tensor_out clamp_max.Tensor_out clamp_min.Tensor_out lerp.Scalar_out max.out max.unary_out"
    " min.out min.unary_out".split()
)
"""Overloads of operators in ``EXACT_OUTPUT`` that convert."""

ACCUMULATED_IN_OUTPUT: Final = frozenset("cumprod cumsum prod sum".split())
"""Operators that compute in the dtype of their ``out=`` tensor where no ``dtype`` is given."""


def check_output_dtype(result: ScalarType, output: ScalarType, out_of: str = "") -> None:
    """Check that a result may be stored in a tensor of dtype ``output``, given by an in-place or ``out=`` call.

    ``out_of`` is the operator of an ``out=`` call. Raises ``DtypeError`` in torch's words.
    """
    if result is output:
        return
    name = out_of.rpartition("::")[2]
    base = name.partition(".")[0]
    if base in ("abs_", "absolute_") and output.is_complex:
        raise DtypeError("In-place abs is not supported for complex tensors.", argument="self")
    if base in ("all", "any"):
        if output not in (bool_, uint8):
            raise DtypeError(f"{base} only supports bool tensor for result, got: {output.name}", argument="out")
        return
    if base in _FOUND_OUTPUT and name not in _CONVERTED_OUTPUT:
        raise DtypeError(f"Found dtype {output.name} but expected {result.name}", argument="out")
    exact = base in EXACT_OUTPUT and name not in _CONVERTED_OUTPUT
    if exact or base in ACCUMULATED_IN_OUTPUT or (base in ("std", "var") and output.is_complex):
        text = _EXACT_TEXTS.get(base)
        if text is None:
            text = f"Expected out tensor to have dtype {result.name.lower()}, but got {output.name.lower()} instead"
        raise DtypeError(text.format(op=base, out=output.name, own=result.name), argument="out")
    if not can_cast(result, output):
        raise DtypeError(f"result type {result.name} can't be cast to the desired output type {output.name}")
