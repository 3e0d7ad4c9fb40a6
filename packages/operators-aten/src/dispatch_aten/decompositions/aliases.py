"""Operators that are other operators under another name."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from dispatch_aten.operators import ATEN, ATEN_BY_NAME

from ._shared import aten

if TYPE_CHECKING:
    from collections.abc import Callable

_ALIASES: Final = """
subtract         sub
subtract_        sub_
multiply         mul
multiply_        mul_
divide           div
divide_          div_
true_divide      div
true_divide_     div_
negative         neg
negative_        neg_
absolute         abs
absolute_        abs_
arccos           acos
arccos_          acos_
arccosh          acosh
arccosh_         acosh_
arcsin           asin
arcsin_          asin_
arcsinh          asinh
arcsinh_         asinh_
arctan           atan
arctan_          atan_
arctan2          atan2
arctan2_         atan2_
arctanh          atanh
arctanh_         atanh_
fix              trunc
fix_             trunc_
__lshift__.Tensor bitwise_left_shift.Tensor
__lshift__.Scalar bitwise_left_shift.Tensor_Scalar
__rshift__.Tensor bitwise_right_shift.Tensor
__rshift__.Scalar bitwise_right_shift.Tensor_Scalar
special_digamma  digamma
special_psi      digamma
special_erf      erf
special_erfc     erfc
special_erfinv   erfinv
special_exp2     exp2
special_expit    sigmoid
special_expm1    expm1
special_gammainc igamma
special_gammaincc igammac
special_gammaln  lgamma
special_i0       i0
special_log1p    log1p
special_log_softmax log_softmax.int
special_softmax  softmax.int
special_logit    logit
special_logsumexp logsumexp
special_multigammaln mvlgamma
special_polygamma polygamma
special_round    round.decimals
special_sinc     sinc
special_xlogy    xlogy.Tensor
special_xlogy.other_scalar xlogy.Scalar_Other
special_xlogy.self_scalar xlogy.Scalar_Self
clip             clamp
clip_            clamp_
__and__          bitwise_and
__or__           bitwise_or
__xor__          bitwise_xor
greater          gt
greater_equal    ge
less             lt
less_equal       le
not_equal        ne
max.other        maximum
min.other        minimum
concat           cat
concatenate      cat
row_stack        vstack
argwhere         nonzero
broadcast_to     expand
swapaxes         transpose.int
swapdims         transpose.int
moveaxis         movedim
split.sizes      split_with_sizes
"""


def _read() -> dict[str, str]:
    """Read the table; a row without overloads stands for every overload but those that write to ``out``."""
    targets: dict[str, str] = dict(line.split() for line in _ALIASES.strip().splitlines())
    for operator in ATEN:
        base, dot, name = operator.name.partition(".")
        if base in targets and "out" not in operator.tags:
            targets.setdefault(operator.name, targets[base] + dot + name)
    return {name: target for name, target in targets.items() if name in ATEN_BY_NAME}


TARGETS: Final = _read()
"""Each alias, and the overload that it stands for."""


def _forward(target: str) -> Callable[..., Any]:
    find = attrgetter(target if "." in target else f"{target}.default")

    def kernel(*args: Any, **kwargs: Any) -> Any:
        return find(aten)(*args, **kwargs)

    return kernel


IMPLICIT: Final[dict[str, Callable[..., Any]]] = {name: _forward(target) for name, target in TARGETS.items()}

EXPLICIT: Final[dict[str, Callable[..., Any]]] = {"_unsafe_view": _forward("view")}
