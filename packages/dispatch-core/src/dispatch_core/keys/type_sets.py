"""Sets of types, under which kernels for several types are registered.

Note [Sets of types stand where keys do]
    A kernel is registered in one place of its operator: under a dispatch key, or for a set of types. Levels, overwriting and
    taking back are the same for both, so a set has the attributes that are asked of a key there. No mask has a bit of a
    set: whether its kernel serves a call is asked where no kernel of a device does; see `operators.typed_calls`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, cast

from .._record import Record
from ..errors import RegistrationError, short_repr
from .table import DispatchKey

#: Types that arguments of every schema have which hold arrays, or represent none.
CONTAINERS: Final = frozenset({list, tuple, dict, set, frozenset, type(None)})
#: Types whose values are numbers, text or containers to every schema.
_NEVER_ARRAYS: Final = CONTAINERS | {object, bool, int, float, complex, str, bytes}


class TypeSet(Record, aside=("order",)):
    """The types of a kernel: each with its subclasses, and none that derives from another of the set.

    >>> shapes = TypeSet.of((int, Exception, ValueError), "f")
    Traceback (most recent call last):
    dispatch_core.errors.RegistrationError: types=... of f has int, which operators take as no array
    Hint: name the classes of the arrays
    >>> TypeSet.of((Exception, ValueError), "f").name
    '(Exception,)'
    """

    types: frozenset[type]
    #: The types as they were written.
    order: tuple[type, ...]

    #: The attributes of a key; see Note [Sets of types stand where keys do].
    kind = "types"
    backend = ""
    rank = -1
    target = None
    is_alias = owns_arrays = is_unclaimed = False

    @classmethod
    def of(cls, types: object, owner: str) -> TypeSet:
        """Return the set of some classes; raises ``RegistrationError`` for anything else. ``owner`` is the operator."""
        if not isinstance(types, tuple | list | set | frozenset) or not types:
            raise RegistrationError(
                f"types=... of {owner} takes a tuple of classes, not {short_repr(types)}", hint="write types=(A, B)"
            )
        for each in types:
            if not isinstance(each, type):
                raise RegistrationError(
                    f"types=... of {owner} takes a tuple of classes, and {short_repr(each)} is none",
                    hint=f"write the class, not {'its name' if isinstance(each, str) else 'an object of it'}",
                )
            if each in _NEVER_ARRAYS:
                raise RegistrationError(
                    f"types=... of {owner} has {each.__qualname__}, which operators take as no array",
                    hint="name the classes of the arrays",
                )
            if hasattr(each, "_dispatch_data") and hasattr(each, "_dispatch_mask"):
                raise RegistrationError(
                    f"types=... of {owner} has {each.__qualname__}, a frontend's tensors; kernels get their arrays",
                    hint="name the classes of the arrays, which the tensors hold",
                )
            if is_unaskable(each):
                raise RegistrationError(
                    f"types=... of {owner} has the protocol {each.__qualname__}, which cannot be asked for its instances",
                    hint="decorate the protocol with typing.runtime_checkable",
                )
        widest = [each for each in dict.fromkeys(types) if not any(_derives(each, other) for other in types)]
        return cls(frozenset(widest), tuple(widest))

    @property
    def name(self) -> str:
        """Return the types' names in parentheses."""
        names = name_types(self.order)
        return f"({', '.join(names)}{',' if len(names) == 1 else ''})"

    @property
    def label(self) -> str:
        """Return the set as people should read it."""
        return f"types={self.name}"

    @property
    def registered_as(self) -> TypeSet:
        """Return the set itself, under which its kernels stand."""
        return self

    def is_within(self, other: TypeSet) -> bool:
        """Return whether each type is, or derives from, one of another set."""
        return all(issubclass(each, other.order) for each in self.order)


def name_types(types: Iterable[type]) -> list[str]:
    """Return the names of classes, with their modules where two would read alike.

    >>> name_types((int, str)), name_types((type("A", (), {"__module__": "x"}), type("A", (), {"__module__": "y"})))
    (['int', 'str'], ['x.A', 'y.A'])
    """
    types = list(types)
    names = [each.__qualname__ for each in types]
    return [
        name if names.count(name) == 1 else f"{each.__module__}.{name}" for name, each in zip(names, types, strict=True)
    ]


def is_unaskable(cls: type) -> bool:
    """Return whether a class is a protocol that ``isinstance`` refuses."""
    return bool(getattr(cls, "_is_protocol", False)) and not getattr(cls, "_is_runtime_protocol", False)


def _derives(cls: type, other: type) -> bool:
    return issubclass(cls, other) and not issubclass(other, cls)


def as_place(types: object, owner: str, beside: object = None) -> DispatchKey:
    """Return the set of some types as the place of a registration; see Note [Sets of types stand where keys do].

    Raises ``RegistrationError`` where the kernel is registered for something ``beside`` the types, too.
    """
    if beside:
        raise RegistrationError(
            f"a kernel of {owner} is registered for types=... and for {short_repr(beside)}",
            hint="a set of types stands where a key does: leave out key and when, in a library without a dispatch key",
        )
    return cast("DispatchKey", TypeSet.of(types, owner))
