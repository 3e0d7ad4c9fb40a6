"""Calls of older programs, which give numbers before the tensors that they scale: ``p.addcdiv_(-rate, mean, root)``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from dispatch_core.tracebacks import warn_caller

#: Functions of three tensors, the names of the numbers that older programs write among them, and their places: of one
#: number or of two, in a function's call and in a method's.
_NUMBERS: Final[dict[str, tuple[tuple[str, ...], set[tuple[int, ...]]]]] = {
    **dict.fromkeys(("addcdiv", "addcmul"), (("value",), {(1,)})),
    **dict.fromkeys(("addbmm", "addmm", "addmv", "addr", "baddbmm"), (("beta", "alpha"), {(0,), (1,), (0, 2), (1, 2)})),
}
_TYPES: Final = {bool, int, float, complex}


def warn_of_older_call(name: str) -> None:
    """Warn at the user's line, as torch does."""
    warn_caller(f"This overload of {name} is deprecated: give the numbers by keyword, after the tensors.")


def _take_numbers(
    name: str, keywords: tuple[str, ...], places: set[tuple[int, ...]], plain: Callable[..., Any]
) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        if len(args) != 3 or (kwargs and (type(args[0]) in _TYPES or type(args[1]) in _TYPES)):
            if "self" in kwargs:
                raise TypeError(f"{name}() got an unexpected keyword argument 'self'\nHint: its name is input")
            found = tuple(place for place, each in enumerate(args) if type(each) in _TYPES)
            if found in places and kwargs.keys().isdisjoint(keywords[: len(found)]):
                warn_of_older_call(name)
                kwargs.update(zip(keywords, [args[place] for place in found], strict=False))
                args = tuple(each for place, each in enumerate(args) if place not in found)
        return plain(*args, **kwargs)

    return function


OLDER: Final[dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]]] = {
    f"{name}{ending}": partial(_take_numbers, f"{name}{ending}", keywords, places)
    for name, (keywords, places) in _NUMBERS.items()
    for ending in ("", "_")
}
"""Name → what makes a function, or a method, take such calls too."""

SCALED: Final = frozenset("add add_ sub sub_ subtract".split())
"""Functions that took the factor of the second tensor before it, ``torch.add(x, 0.5, y)``; `functions` has them.

``subtract`` takes it behind a number only, as torch's.
"""
