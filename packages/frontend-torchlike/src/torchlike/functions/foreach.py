"""Torch's functions on lists of tensors, ``torch._foreach_add_`` and its like, by the tensors' own methods.

Optimizers that people wrote for torch call them. Each tensor is computed by itself: there is no launch to save here.

>>> import torchlike
>>> torchlike._foreach_add([torchlike.ones(2), torchlike.zeros(1)], [1, 2])
(tensor([2., 2.]), tensor([2.]))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import dispatch_core as dc

from ..tensors.tensor import Tensor

__all__ = ["list_foreach", "make_foreach"]

#: Names that have a form in place too, by the names of their further arguments.
_BOTH: Final = {
    "": "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round"
    " rsqrt sigmoid sign sin sinh sqrt tan tanh trunc",
    "other": "add div mul sub clamp_max clamp_min maximum minimum",
    "tensor1 tensor2 value": "addcdiv addcmul",
    "tensors1 weight": "lerp",
    "exponent": "pow",
}
#: The others.
_ONE: Final = {"": "clone max", "src non_blocking": "copy_", "ord dtype": "norm powsum", "mat2": "mm", "_": "zero_"}
_PARAMETERS: Final = {
    **{name + end: names.split() for names, all_of in _BOTH.items() for name in all_of.split() for end in ("", "_")},
    **{name: names.strip("_").split() for names, all_of in _ONE.items() for name in all_of.split()},
}
#: torch's other words for a parameter, which tell its type.
_WORDS: Final = {"scalar": ("other", "value"), "scalars": ("other", "value"), "weights": ("weight",)}
_DEFAULTS: Final[dict[str, Any]] = {"value": 1, "ord": 2, "dtype": None, "non_blocking": False}
#: Name → the method that computes, where it has another name.
_METHODS: Final = {"maximum": "clamp_min", "maximum_": "clamp_min_", "minimum": "clamp_max", "minimum_": "clamp_max_"}


def _compute(name: str, one: Tensor, row: tuple[Any, ...], extra: dict[str, Any]) -> Any:
    """Compute a function for one tensor."""
    if name == "norm":
        return _vector_norm(one, *row)
    if name == "powsum":
        order, dtype = row
        return one.to(dtype or one.dtype).abs().pow(order).sum()
    if name.startswith("addc"):
        return getattr(one, name)(*row[:2], value=row[2])
    return getattr(one, _METHODS.get(name, name))(*row, **extra)


def _vector_norm(one: Tensor, order: Any, dtype: Any) -> Any:
    if one.numel() == 0 and order == float("inf"):
        raise RuntimeError(
            "_foreach_norm cannot compute the infinity norm on an empty tensor because the operation does not have an "
            "identity"
        )
    return dc.ops.aten.linalg_vector_norm(one, order, dtype=dtype)


def _spread(value: Any, name: str, count: int) -> list[Any]:
    """Return an argument's value for each of the tensors."""
    if isinstance(value, Tensor) and name == "value":
        value = value.tolist()
    if isinstance(value, Tensor) and value.ndim:
        raise RuntimeError(
            f"scalar tensor expected to be 0 dim but it has {value.ndim} dimensions and {value.numel()} elements."
        )
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) != count:
        if any(isinstance(each, Tensor) for each in value):
            raise RuntimeError(f"Tensor lists must have the same number of tensors, got {count} and {len(value)}")
        raise RuntimeError("Tensor list must have same number of elements as scalar list.")
    return list(value)


def _bind(title: str, names: list[str], args: tuple[Any, ...], given: dict[str, Any]) -> list[Any]:
    for word, meant in _WORDS.items():
        if word in given:
            given[next((name for name in meant if name in names), word)] = given.pop(word)
    if set(given) & set(names[: len(args)]):
        given = {"": None}
    given.update(zip(names, args, strict=False))
    missing = [name for name in names if name not in given and name not in _DEFAULTS]
    values = [given.pop(name, _DEFAULTS.get(name)) for name in names]
    if given or missing or len(args) > len(names):
        raise TypeError(f"{title}() received an invalid combination of arguments")
    return values


def list_foreach() -> list[str]:
    """Return the names of the functions, ``_foreach_abs`` and its like."""
    return [f"_foreach_{name}" for name in _PARAMETERS]


def make_foreach(name: str) -> Callable[..., Any] | None:
    """Return ``_foreach_NAME``, None where torch has no such function.

    The functions return a tuple, those in place the list that they take. They raise ``RuntimeError`` for an empty list and
    for lists of different lengths, ``TypeError`` for arguments that torch's do not take.
    """
    names = _PARAMETERS.get(name)
    if names is None:
        return None
    title = f"_foreach_{name}"

    def each(self: Any, *args: Any, **given: Any) -> Any:
        extra: dict[str, Any] = {key: given.pop(key) for key in ("alpha", "memory_format") if key in given}
        if name == "pow" and args and isinstance(args[0], (list, tuple)) and isinstance(self, (int, float, complex)):
            return tuple([self**exponent for exponent in args[0]])
        values = _bind(title, names, args, given)
        if not isinstance(self, (list, tuple)) or (
            "alpha" in extra and not isinstance(values[0], (list, tuple, Tensor))
        ):
            raise TypeError(f"{title}() received an invalid combination of arguments")
        if not self:
            raise RuntimeError("Tensor list must have at least one tensor.")
        columns = [_spread(value, key, len(self)) for key, value in zip(names, values, strict=True)]
        rows = list(zip(*columns, strict=True)) if names else [()] * len(self)
        done = [_compute(name, one, row, extra) for one, row in zip(self, rows, strict=True)]
        return self if name.endswith("_") else tuple(done)

    each.__name__ = each.__qualname__ = title
    each.__doc__ = f"Call ``{name}`` for each tensor of a list (source: ``torch.{title}``)."
    return each
