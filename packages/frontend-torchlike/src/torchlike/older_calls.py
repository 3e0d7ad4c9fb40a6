"""Calls of older programs, which give numbers before the tensors that they scale: ``p.addcdiv_(-rate, mean, root)``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from .tensors import Tensor

#: Functions that take so many tensors, and the names of the numbers that older programs write among them, in their order.
_NUMBERS: Final = {
    **dict.fromkeys(("addcdiv", "addcmul"), ("value",)),
    **dict.fromkeys(("addbmm", "addmm", "addmv", "addr", "baddbmm"), ("beta", "alpha")),
}


def _warn(name: str) -> None:
    warnings.warn(
        f"This overload of {name} is deprecated: give the numbers by keyword, after the tensors.",
        UserWarning,
        stacklevel=3,
    )


def _take_numbers(name: str, keywords: tuple[str, ...], plain: Callable[..., Any]) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        if len(args) > 3:
            numbers = [each for each in args if not isinstance(each, Tensor)]
            if len(args) == 3 + len(numbers) and len(numbers) <= len(keywords):
                _warn(name)
                args = tuple(each for each in args if isinstance(each, Tensor))
                kwargs.update(zip(keywords, numbers, strict=False))
        return plain(*args, **kwargs)

    return function


_ONE: Final = 1


def _take_factor(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Tensor, other: Any, older: Any = None, *, alpha: Any = _ONE) -> Any:
        if older is not None:
            _warn(name)
            return plain(self, older, alpha=other)
        return plain(self, other) if alpha is _ONE else plain(self, other, alpha=alpha)

    return method


OLDER: Final[dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]]] = {
    **{
        f"{name}{ending}": partial(_take_numbers, f"{name}{ending}", keywords)
        for name, keywords in _NUMBERS.items()
        for ending in ("", "_")
    },
    **{name: partial(_take_factor, name) for name in ("add_", "sub_")},
}
"""Name → what makes a function, or a method, take such calls too."""
