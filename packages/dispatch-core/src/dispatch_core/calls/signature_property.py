"""``__signature__`` for the objects of a class that are called."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inspect import Signature

    from ..signatures import LazySignature


class SignatureProperty:
    """Gives the objects of a class their ``__signature__``, and the class itself none.

    >>> import inspect
    >>> class Twice:
    ...     __signature__ = SignatureProperty(lambda self: [inspect.signature(lambda number: 2 * number)])
    ...     def __call__(self, *args): ...
    >>> str(inspect.signature(Twice())), str(inspect.signature(Twice))
    ('(number)', '()')
    """

    def __init__(self, make: Callable[[Any], Iterable[Signature]]) -> None:
        self._make = make

    def __get__(self, instance: object, owner: type) -> LazySignature:
        if instance is None:
            raise AttributeError("__signature__")
        from ..signatures import LazySignature  # it imports inspect, which programs without operators do without

        return LazySignature(lambda: self._make(instance))
