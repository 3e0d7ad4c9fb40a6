"""Which calls do something besides computing a result, and so are never dead code (source: ``torch.fx.has_side_effect``)."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final, TypeVar

from ..amp.autocasting import autocast
from ..surface.conditions import _assert
from .targets import is_overload, is_packet, print_target

__all__ = ["SIDE_EFFECTFUL_FUNCTIONS", "has_side_effect", "is_impure"]

_F = TypeVar("_F", bound=Callable[..., Any])
#: Functions whose calls stay in a graph though nothing uses their results.
SIDE_EFFECTFUL_FUNCTIONS: Final[set[Any]] = {_assert, operator.setitem, autocast.__enter__, autocast.__exit__}
#: Names of functions that draw random numbers: leaving one out changes those that come after.
_RANDOM: Final = frozenset(
    "rand rand_like randint randint_like randn randn_like randperm bernoulli multinomial normal poisson".split()
)


def has_side_effect(fn: _F) -> _F:
    """Keep calls of a function when dead code is eliminated, and return it (source: ``torch.fx.has_side_effect``).

    >>> import torchlike
    >>> @torchlike.fx.node.has_side_effect
    ... def log(x):
    ...     print(x)
    """
    SIDE_EFFECTFUL_FUNCTIONS.add(fn)
    return fn


def is_impure(function: Any, impure_random: bool) -> bool:
    """Return whether a function writes to an argument, has another effect, or draws random numbers.

    Overloads that draw random numbers count only with ``impure_random``.

    >>> import torchlike
    >>> is_impure(torchlike.ops.aten.add_.Tensor, True), is_impure(torchlike.rand, False), is_impure(torchlike.relu, True)
    (True, True, False)
    """
    if function in SIDE_EFFECTFUL_FUNCTIONS:
        return True
    if is_packet(function):
        return "default" in dir(function) and is_impure(function.default, impure_random)
    if is_overload(function):
        return bool(function.schema.is_mutable) or (impure_random and "nondeterministic_seeded" in function.tags)
    return getattr(function, "__name__", None) in _RANDOM and print_target(function).partition(".")[0] in (
        "torch",
        "torchlike",
    )
