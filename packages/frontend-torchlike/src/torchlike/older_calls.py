"""Calls of older programs, which give numbers before the tensors that they scale: ``p.addcdiv_(-rate, mean, root)``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from dispatch_core.tracebacks import warn_caller

from .tensors import Tensor

#: Functions that take so many tensors, and the names of the numbers that older programs write among them, in their order.
_NUMBERS: Final = {
    **dict.fromkeys(("addcdiv", "addcmul"), ("value",)),
    **dict.fromkeys(("addbmm", "addmm", "addmv", "addr", "baddbmm"), ("beta", "alpha")),
}


def warn_of_older_call(name: str) -> None:
    """Warn at the user's line, as torch does."""
    warn_caller(f"This overload of {name} is deprecated: give the numbers by keyword, after the tensors.")


def _take_numbers(name: str, keywords: tuple[str, ...], plain: Callable[..., Any]) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        if len(args) > 3:
            numbers = [each for each in args if not isinstance(each, Tensor)]
            if len(args) == 3 + len(numbers) and len(numbers) <= len(keywords):
                warn_of_older_call(name)
                args = tuple(each for each in args if isinstance(each, Tensor))
                kwargs.update(zip(keywords, numbers, strict=False))
        return plain(*args, **kwargs)

    return function


OLDER: Final[dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]]] = {
    f"{name}{ending}": partial(_take_numbers, f"{name}{ending}", keywords)
    for name, keywords in _NUMBERS.items()
    for ending in ("", "_")
}
"""Name → what makes a function, or a method, take such calls too."""

SCALED: Final = frozenset("add add_ sub sub_".split())
"""Functions that took the factor of the second tensor before it: ``torch.add(x, 0.5, y)``; `functions` has them."""
