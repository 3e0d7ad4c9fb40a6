"""The boundary between frontends' tensors and backends' arrays: whose they are, and the results that do not pass it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from .._record import Record
from ..arrays.access import unread
from ..arrays.frontend import FRONTENDS, Frontend
from ..arrays.owners import KEY_TYPES
from ..arrays.types import Array, ArrayType
from ..errors import KernelResultError
from ..keys.table import DispatchKey


class Boundary(Record):
    """The constants of a boundary: whose arrays lie below it, and whose tensors, if any, above it."""

    key: DispatchKey
    #: None when raw arrays are passed through.
    frontend: Frontend[Any] | None
    array_types: tuple[ArrayType, ...]

    @property
    def mask(self) -> int:
        """Return the mask of a fresh result."""
        return self.key.value | (0 if self.frontend is None else self.frontend.marker)

    @property
    def array_type(self) -> type:
        """Return the type that a kernel's results have as a rule."""
        return self.array_types[0].type if self.array_types else _Nothing

    @property
    def mutable(self) -> bool:
        """Return whether kernels can write into these arrays."""
        return all(array_type.mutable for array_type in self.array_types)


class _Nothing:
    """Represent the array type of a key that no backend has described: no result has it."""


def make_boundary(key: DispatchKey, frontend: Frontend[Any] | None) -> Boundary:
    """Return the boundary at ``key``."""
    return Boundary(key, frontend, KEY_TYPES.get(key, ()))


def frontend_of_type(tensor_type: type) -> Frontend[Any]:
    """Return the frontend of a class of tensors."""
    return next(each for each in FRONTENDS.values() if each.tensor_type is tensor_type)


@cache
def make_wrapper(tensor_type: type) -> Callable[[Any], Any]:
    """Return a function that makes a tensor of the result of an operator that was given none; a tensor stays as it is."""

    def wrap(found: object) -> object:
        return found if isinstance(found, tensor_type) else frontend_of_type(tensor_type).wrap(found)

    return wrap


def make_coercer(boundary: Boundary, name: str, who: Callable[[], str] = str) -> Callable[[object], Array]:
    """Return a function that makes an array of a fresh result that is not of the expected type.

    It raises ``KernelResultError`` for a value that is not an array of the boundary's backend; where no backend has
    described its array types, it lets everything pass. ``who`` tells whose the value is.
    """

    def coerce(value: object) -> Array:
        if value is NotImplemented:
            raise declined_error(name, who())
        for array_type in boundary.array_types:
            if isinstance(value, array_type.type):
                return value
        for array_type in boundary.array_types:
            if array_type.coerce is not None:
                try:
                    made = array_type.coerce(value)
                except Exception as error:  # noqa: BLE001  # see Note [Readers belong to vendors] in `arrays`
                    fault = unread(array_type, "coerce", error)
                    raise fault from fault.__cause__
                if isinstance(made, array_type.type):
                    return made
        if boundary.array_types:
            raise bad_result(name, boundary, value, who())
        return value

    return coerce


def make_view_checker(boundary: Boundary, name: str, who: Callable[[], str] = str) -> Callable[[object], Array]:
    """Return a function that refuses a view result that is not an array: a scalar is a copy, never a view."""

    def check(value: object) -> Array:
        if value is NotImplemented:
            raise declined_error(name, who())
        if not boundary.array_types or any(isinstance(value, array_type.type) for array_type in boundary.array_types):
            return value
        raise bad_result(name, boundary, value, who())

    return check


def declined_error(name: str, who: str = "") -> KernelResultError:
    """Return the error for ``NotImplemented`` from the last kernel that may serve a call; ``who`` tells whose it is."""
    return KernelResultError(
        f"{name}: the kernel returned NotImplemented, and no other is left that could serve the call{who and chr(10) + who}",
        hint="raise an error: providers' kernels and short ways alone may leave a call to the next, not those of when=",
    )


def bad_result(name: str, boundary: Boundary, value: object, who: str = "") -> KernelResultError:
    """Return the error for a kernel's result that the schema does not allow; ``who`` tells whose it is."""
    if value is NotImplemented:
        return declined_error(name, who)
    expected = " or ".join(f"{known.type.__module__}.{known.type.__qualname__}" for known in boundary.array_types)
    return KernelResultError(
        f"{name}: the kernel for {boundary.key.label} returned {type(value).__module__}.{type(value).__qualname__}"
        f" where the schema promises a Tensor (here {expected}){who and chr(10) + who}",
        hint="return the backend's own array; for a view, one that shares memory with its base",
    )
