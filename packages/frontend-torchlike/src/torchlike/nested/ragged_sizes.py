"""The size of a ragged dimension: a symbol that equals only itself.

Note [Ragged sizes]
    All tensors with the same offsets, as one object, have the same ragged size, and no others have it: that is how an
    operator knows, without reading values, that two nested tensors fit. So the size belongs to the tensor of the offsets,
    or to that of the lengths where there are gaps, and to its copies on other devices.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any, Final, NoReturn, Self
from weakref import ref

from dispatch_core.forks import Order, forkable

from ..names.lazy_names import Tensor

_numbers: Final = count(1)
#: Far from every size, and from -1, so that a function that takes it for a number refuses it.
_FIRST: Final = -(1 << 40)


class NestedInt(int):
    """The size of a ragged dimension, such as ``j1``, or a multiple of it (source: torch's nested ints).

    >>> size = NestedInt(1)
    >>> size, 2 * size, size == NestedInt(1), size == NestedInt(2), size == 3
    (j1, 2*j1, True, False, False)
    """

    number: int
    factor: int

    def __new__(cls, number: int, factor: int = 1) -> Self:
        made = int.__new__(cls, (_FIRST - number) * factor)
        made.number, made.factor = number, factor
        return made

    def __repr__(self) -> str:
        return f"j{self.number}" if self.factor == 1 else f"{self.factor}*j{self.number}"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, int) and not isinstance(other, NestedInt):
            return NestedInt(self.number, self.factor * other)
        return self._refuse("multiplication by it")

    __rmul__ = __mul__

    def __ge__(self, other: Any) -> bool:
        if isinstance(other, NestedInt) and other.number == self.number:
            return self.factor >= other.factor
        if isinstance(other, int) and not isinstance(other, NestedInt) and other <= 2:
            return True
        raise ValueError(f"ge: relation is indeterminate, between {self!r} and {other!r}")

    def __gt__(self, other: Any) -> bool:
        return self >= other and self != other

    def __le__(self, other: Any) -> bool:
        return not self > other

    def __lt__(self, other: Any) -> bool:
        return not self >= other

    __eq__ = int.__eq__
    __hash__ = int.__hash__

    def _refuse(self, what: str) -> NoReturn:
        raise TypeError(
            f"{what} is not defined for {self!r}, the size of a ragged dimension\n"
            "Hint: offsets() and lengths() have the sizes of the rows"
        )

    def __reduce__(self) -> NoReturn:
        self._refuse("pickling")


def _make_refusal(name: str) -> Callable[..., Any]:
    def refuse(self: NestedInt, *_: Any) -> NoReturn:
        self._refuse(name)

    return refuse


#: ``range`` and Python's own slices take the number of a subclass of int without asking; torchlike's ask ``__index__``.
_REFUSED: Final = (
    "add radd sub rsub floordiv rfloordiv truediv rtruediv mod rmod divmod rdivmod pow rpow neg abs int float index"
    " round"
)
for _name in _REFUSED.split():
    setattr(NestedInt, f"__{_name}__", _make_refusal(_name))

_lock: Final = forkable(Order.MEMORY)
#: id of a tensor of offsets or lengths → a reference to it, and its size.
_known: Final[dict[int, tuple[ref[Tensor], NestedInt]]] = {}


def ragged_size(source: Tensor) -> NestedInt:
    """Return the ragged size of nested tensors with these offsets, or lengths; see Note [Ragged sizes]."""
    known = _known.get(id(source))
    if known is not None and known[0]() is source:
        return known[1]
    with _lock:  # two threads must not each make one
        known = _known.get(id(source))
        return known[1] if known is not None and known[0]() is source else _keep(source, NestedInt(next(_numbers)))


def share_ragged_size(source: Tensor, copy: Tensor) -> Tensor:
    """Give a copy of offsets, or lengths, on another device the same ragged size; return the copy."""
    if copy is not source:
        _keep(copy, ragged_size(source))
    return copy


def _keep(source: Tensor, size: NestedInt) -> NestedInt:
    key = id(source)
    _known[key] = ref(source, partial(_forget, key)), size
    return size


def _forget(key: int, gone: ref[Tensor]) -> None:
    if (known := _known.get(key)) is not None and known[0] is gone:
        del _known[key]
