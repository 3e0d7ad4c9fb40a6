"""The boundary between frontends' tensors and backends' arrays, as a plan read off an operator's schema once.

The schema decides what becomes of a result: ``Tensor`` is a fresh wrapper, ``Tensor(a!)`` the argument itself,
``Tensor(a)`` a view of the argument, lists and tuples element by element, anything else passes untouched.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable
from typing import Any, Final, Literal

from .._record import Record
from ..arrays.access import unread
from ..arrays.frontend import Frontend
from ..arrays.owners import KEY_TYPES
from ..arrays.types import ArrayType
from ..errors import KernelResultError
from ..keys.table import DispatchKey
from ..schema.check import checker
from ..schema.model import MISSING, Argument, FunctionSchema, Return, tensor_kind

__all__ = ["Boundary", "Parameter", "Plan", "Result"]

#: Covered kernels: the argument's index, the value that they serve, and the function, called without that argument.
Covered = tuple[tuple[int, Any, Callable[..., Any]], ...]
#: The builtins that generated code uses, which an argument of that name would hide.
_CALLED: Final = frozenset(
    "AttributeError KeyError TypeError float getattr int isinstance len list tuple type zip".split()
)
TensorKind = Literal["", "tensor", "optional", "list", "optional_list"]


def _is_taken(name: str) -> bool:
    """Tell whether an argument's name cannot stand in generated text: ``from`` is a word of Python's."""
    return keyword.iskeyword(name) or name.startswith("__") or name in _CALLED


class Parameter(Record):
    """One argument of an operator, as the calling code needs it."""

    name: str
    #: How the argument carries tensors; "" when the dispatcher does not look at it.
    tensors: TensorKind
    writes: bool
    keyword_only: bool
    default: Any
    check: Callable[[object], object]
    #: The schema's spelling of the type.
    type: str

    @property
    def required(self) -> bool:
        """Tell whether a call must give the argument."""
        return self.default is MISSING

    @property
    def word(self) -> str:
        """Return the argument's name in generated text: another one where Python or that text needs the schema's."""
        return f"arg_{self.name}" if _is_taken(self.name) else self.name


class Result(Record):
    """One result of an operator, as the boundary must treat it."""

    #: "fresh" and "view" concern tensors, "self" is the written argument, "other" passes untouched.
    kind: Literal["fresh", "view", "self", "other"]
    is_list: bool
    #: Whether None may stand for a tensor.
    is_optional: bool
    #: The index of the argument that a view or a written argument belongs to.
    source: int


class Plan(Record):
    """What a schema asks of the code that calls its kernels."""

    schema: FunctionSchema
    name: str
    parameters: tuple[Parameter, ...]
    results: tuple[Result, ...]
    #: Index of the argument that names a device, or None.
    device_index: int | None

    @property
    def is_factory(self) -> bool:
        """Tell whether a device argument alone decides where the operator runs: there are no tensor arguments."""
        return self.device_index is not None and not any(parameter.tensors for parameter in self.parameters)

    @property
    def can_generate(self) -> bool:
        """Tell whether Python can spell the signature: no vararg, and no argument named twice."""
        words = {parameter.word for parameter in self.parameters}
        return len(words) == len(self.parameters) and not self.schema.is_vararg and not self.schema.is_varret

    @property
    def writes(self) -> tuple[int, ...]:
        """Return the indices of the arguments that the operator writes to."""
        return tuple(index for index, parameter in enumerate(self.parameters) if parameter.writes and parameter.tensors)

    def split(self, values: tuple[Any, ...]) -> tuple[list[Any], dict[str, Any]]:
        """Split values in schema order into positional and keyword arguments of a kernel."""
        positional, keywords = [], {}
        for parameter, value in zip(self.parameters, values, strict=False):
            if parameter.keyword_only:
                keywords[parameter.name] = value
            else:
                positional.append(value)
        # What a vararg operator got beyond its arguments.
        positional += values[len(self.parameters) :]
        return positional, keywords


def _result(item: Return, arguments: tuple[Argument, ...]) -> Result:
    kind = tensor_kind(item.type)
    flags = {"is_list": kind in ("list", "optional_list"), "is_optional": kind in ("optional", "optional_list")}
    if not kind:
        return Result("other", **flags, source=-1)
    alias = item.alias
    if alias is not None:
        for index, argument in enumerate(arguments):
            theirs = argument.alias
            if (
                theirs is not None
                and tensor_kind(argument.type)
                and (theirs.before & alias.before or "*" in theirs.after)
            ):
                return Result("self" if alias.is_write else "view", **flags, source=index)
    return Result("fresh", **flags, source=-1)


def make_plan(schema: FunctionSchema, is_tensor: Callable[[object], bool]) -> Plan:
    """Read off ``schema`` what calls of its operator need."""
    parameters = []
    for argument in schema.arguments:
        parameters.append(
            Parameter(
                argument.name,
                tensor_kind(argument.type) or "",
                argument.is_write,
                argument.kwarg_only,
                argument.value,
                checker(argument.type, is_tensor),
                str(argument.type),
            )
        )
    devices = [
        index
        for index, parameter in enumerate(parameters)
        if parameter.name == "device" and parameter.type.rstrip("?") == "Device"
    ]
    return Plan(
        schema,
        str(schema.name),
        tuple(parameters),
        tuple(_result(item, schema.arguments) for item in schema.returns),
        devices[0] if devices else None,
    )


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
        """Tell whether kernels can write into these arrays."""
        return all(array_type.mutable for array_type in self.array_types)


class _Nothing:
    """Stand for the array type of a key that no backend has described: no result has it."""


def make_boundary(key: DispatchKey, frontend: Frontend[Any] | None) -> Boundary:
    """Return the boundary at ``key``."""
    return Boundary(key, frontend, KEY_TYPES.get(key, ()))


def coercer(boundary: Boundary, name: str) -> Callable[[Any], Any]:
    """Return a function that makes an array of a fresh result that is not of the expected type.

    It raises ``KernelResultError`` for what is no array of the boundary's backend; where no backend has described its
    array types, it lets everything pass.
    """

    def coerce(value: Any) -> Any:
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
            raise bad_result(name, boundary, value)
        return value

    return coerce


def view_checker(boundary: Boundary, name: str) -> Callable[[Any], Any]:
    """Return a function that refuses a view result that is no array: a scalar is a copy, never a view."""

    def check(value: Any) -> Any:
        if not boundary.array_types or any(isinstance(value, array_type.type) for array_type in boundary.array_types):
            return value
        raise bad_result(name, boundary, value)

    return check


def bad_result(name: str, boundary: Boundary, value: Any, who: str = "") -> KernelResultError:
    """Return the error for a kernel's result that the schema does not allow; ``who`` tells whose it is."""
    expected = " or ".join(f"{known.type.__module__}.{known.type.__qualname__}" for known in boundary.array_types)
    return KernelResultError(
        f"{name}: the kernel for {boundary.key.label} returned {type(value).__module__}.{type(value).__qualname__}"
        f" where the schema promises a Tensor (here {expected}){who and chr(10) + who}",
        hint="return the backend's own array; for a view, one that shares memory with its base",
    )


def bad_count(name: str, expected: int, value: Any, who: str = "") -> KernelResultError:
    """Return the error for a kernel that returned the wrong number of results; ``who`` tells whose they are."""
    got = f"{len(value)} results" if isinstance(value, tuple | list) else type(value).__qualname__
    return KernelResultError(
        f"{name}: the kernel returned {got} where the schema promises {expected} results{who and chr(10) + who}"
    )


def bad_list(name: str, value: Any) -> KernelResultError:
    """Return the error for a kernel that returned something else than a list of arrays."""
    return KernelResultError(
        f"{name}: the kernel returned {type(value).__module__}.{type(value).__qualname__} where the schema promises a list"
        " of Tensors",
        hint="return a list or a tuple of arrays",
    )


def unwrap(kind: TensorKind, value: Any) -> Any:
    """Return the arrays that an argument's tensors hold; what is no tensor passes untouched."""
    if kind == "tensor":
        return value._dispatch_data
    if kind == "optional":
        return None if value is None else value._dispatch_data
    if kind in ("list", "optional_list"):
        return [None if item is None else item._dispatch_data for item in value]
    return value
