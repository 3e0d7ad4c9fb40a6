"""Constructors of observers with some arguments given, as a `QConfig` holds them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any


class _PartialWrapper:
    """A class with arguments for its instances; those in ``callable_args`` are called for the argument."""

    def __init__(self, p: Any) -> None:
        self.p = p
        self.callable_args: dict[str, Callable[[], Any]] = {}

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        late = {name: make() for name, make in self.callable_args.items() if name not in keywords}
        return self.p(*args, **keywords, **late)

    def __repr__(self) -> str:
        return f"{self.p!r}{self.callable_args!r}"

    def with_args(self, **kwargs: Any) -> _PartialWrapper:
        """Return the same constructor with further arguments given."""
        return _PartialWrapper(partial(self, **kwargs))

    def with_callable_args(self, **kwargs: Callable[[], Any]) -> _PartialWrapper:
        """Return the same constructor with functions that give further arguments, each called for each instance."""
        made = _PartialWrapper(self.p)
        made.callable_args = {**self.callable_args, **kwargs}
        return made


class Constructible:
    """The part of observers' classes that gives arguments to instances that are made later."""

    @classmethod
    def with_args(cls, **kwargs: Any) -> _PartialWrapper:
        """Return a constructor of the class with these arguments given.

        >>> from torchlike.ao.quantization import MinMaxObserver
        >>> MinMaxObserver.with_args(quant_min=0, quant_max=127)().quant_max
        127
        """
        return _PartialWrapper(partial(cls, **kwargs))

    @classmethod
    def with_callable_args(cls, **kwargs: Callable[[], Any]) -> _PartialWrapper:
        """Return a constructor of the class whose arguments come from functions, each called for each instance."""
        return _PartialWrapper(partial(cls)).with_callable_args(**kwargs)
