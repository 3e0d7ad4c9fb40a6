"""Operators that are other operators under another name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ._shared import aten

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["EXPLICIT", "IMPLICIT"]

_ALIASES: Final = """
subtract.Tensor       sub.Tensor
subtract.Scalar       sub.Scalar
subtract_.Tensor      sub_.Tensor
subtract_.Scalar      sub_.Scalar
multiply.Tensor       mul.Tensor
multiply.Scalar       mul.Scalar
multiply_.Tensor      mul_.Tensor
multiply_.Scalar      mul_.Scalar
divide.Tensor         div.Tensor
divide.Scalar         div.Scalar
divide.Tensor_mode    div.Tensor_mode
divide.Scalar_mode    div.Scalar_mode
divide_.Tensor        div_.Tensor
divide_.Scalar        div_.Scalar
divide_.Tensor_mode   div_.Tensor_mode
divide_.Scalar_mode   div_.Scalar_mode
true_divide.Tensor    div.Tensor
true_divide.Scalar    div.Scalar
true_divide_.Tensor   div_.Tensor
true_divide_.Scalar   div_.Scalar
negative              neg
negative_             neg_
absolute              abs
absolute_             abs_
clip                  clamp
clip.Tensor           clamp.Tensor
clip_                 clamp_
clip_.Tensor          clamp_.Tensor
__and__.Tensor        bitwise_and.Tensor
__and__.Scalar        bitwise_and.Scalar
__or__.Tensor         bitwise_or.Tensor
__or__.Scalar         bitwise_or.Scalar
__xor__.Tensor        bitwise_xor.Tensor
__xor__.Scalar        bitwise_xor.Scalar
greater.Tensor        gt.Tensor
greater.Scalar        gt.Scalar
greater_equal.Tensor  ge.Tensor
greater_equal.Scalar  ge.Scalar
less.Tensor           lt.Tensor
less.Scalar           lt.Scalar
less_equal.Tensor     le.Tensor
less_equal.Scalar     le.Scalar
not_equal.Tensor      ne.Tensor
not_equal.Scalar      ne.Scalar
max.other             maximum
min.other             minimum
concat                cat
swapaxes              transpose.int
swapdims              transpose.int
moveaxis.int          movedim.int
moveaxis.intlist      movedim.intlist
split.sizes           split_with_sizes
"""


def _forward(target: str) -> Callable[..., Any]:
    packet, _, overload = target.partition(".")

    def kernel(*args: Any, **kwargs: Any) -> Any:
        return getattr(getattr(aten, packet), overload or "default")(*args, **kwargs)

    return kernel


IMPLICIT: Final[dict[str, Callable[..., Any]]] = {
    name: _forward(target) for name, target in (line.split() for line in _ALIASES.strip().splitlines())
}

EXPLICIT: Final[dict[str, Callable[..., Any]]] = {}
