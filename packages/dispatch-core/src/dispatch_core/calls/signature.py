"""The signature of calls, read off a schema once: where the tensors are, and how results reach the caller.

The schema decides that for each result: ``Tensor`` is a fresh wrapper, ``Tensor(a!)`` the argument itself,
``Tensor(a)`` a view of the argument, lists and tuples element by element, anything else passes untouched.

Note [Results that a call leaves out]
    The argument ``bool[N] output_mask`` of an operator with N results says which of them its caller wants. The others are
    None for callers, as in torch. Kernels may return None or any array for these, and shape rules describe arrays of no
    elements, so that plans and steps have a place for every result.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Any, Final, Literal

from .._record import Record, replace
from ..errors import KernelResultError
from ..schema.check import checker
from ..schema.model import MISSING, Argument, FunctionSchema, Return, tensor_kind
from ..schema.types import Type

#: Each one's argument by index, the value that it serves, and the function, called without that argument.
SpecializedKernels = tuple[tuple[int, Any, Callable[..., Any]], ...]
#: The builtins that generated code uses, which an argument of that name would hide.
_CALLED: Final = frozenset(
    "AttributeError Exception KeyError TypeError float getattr int isinstance len list tuple type zip".split()
)
_DATA: Final = attrgetter("_dispatch_data")
_OUTPUT_MASK: Final = "output_mask"
TensorKind = Literal["", "tensor", "optional", "list", "optional_list"]


def _is_taken(name: str) -> bool:
    """Return whether an argument's name cannot stand in generated text: ``from`` is a word of Python's."""
    return keyword.iskeyword(name) or name.startswith("__") or name in _CALLED


class CallParameter(Record):
    """One argument of an operator, as the calling code needs it."""

    name: str
    #: How the argument carries tensors; "" when the dispatcher does not look at it.
    tensors: TensorKind
    writes: bool
    keyword_only: bool
    default: object
    #: The schema's spelling of the type.
    type: str
    _schema_type: Type
    _is_tensor: Callable[[object], bool]

    @property
    def check(self) -> Callable[[object], object]:
        """Return the function that checks a value, made now: calls with arguments of the common types need none."""
        return checker(self._schema_type, self._is_tensor)

    @property
    def required(self) -> bool:
        """Return whether a call must give the argument."""
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
    #: Whether None may represent a tensor.
    is_optional: bool
    #: The index of the argument that a view or a written argument belongs to.
    source: int
    #: The index of the argument that says at the result's place whether the call has it; -1 where every call has it.
    output_mask: int = -1


class ResultCheck(Record):
    """A check of the results of a kernel that sees the caller's arguments; it takes them and the arguments in order."""

    #: The type of a tensor that needs no further look, if there is one.
    usual: type | None
    check: Callable[[Any, tuple[Any, ...]], None]


class CallSignature(Record):
    """An operator's parameters and results, as the code that calls its kernels needs them."""

    schema: FunctionSchema
    name: str
    parameters: tuple[CallParameter, ...]
    results: tuple[Result, ...]
    #: Index of the argument that names a device, or None.
    device_index: int | None

    @property
    def is_factory(self) -> bool:
        """Return whether a device argument alone decides where the operator runs: there are no tensor arguments."""
        return self.device_index is not None and not self.has_tensors

    @property
    def has_tensors(self) -> bool:
        """Return whether there are tensor arguments."""
        return any(parameter.tensors for parameter in self.parameters)

    @property
    def is_specializable(self) -> bool:
        """Return whether Python can spell the signature: no vararg, and no argument named twice."""
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
        # The arguments of a vararg operator beyond its own.
        positional += values[len(self.parameters) :]
        return positional, keywords

    def tensors(self, values: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Yield the tensors among ``values`` in schema order, each with the index of its argument.

        None is left out, and so are the arguments of a vararg operator beyond its own.
        """
        for index, (parameter, value) in enumerate(zip(self.parameters, values, strict=False)):
            if "list" in parameter.tensors:
                yield from ((index, item) for item in value if item is not None)
            elif parameter.tensors and value is not None:
                yield index, value

    def map_tensors(self, function: Callable[[Any], Any], values: Sequence[Any]) -> tuple[Any, ...]:
        """Return ``values`` in schema order with ``function`` applied to each tensor; None stays."""
        mapped = [
            [None if item is None else function(item) for item in value]
            if "list" in parameter.tensors
            else function(value)
            if parameter.tensors and value is not None
            else value
            for parameter, value in zip(self.parameters, values, strict=False)
        ]
        return (*mapped, *values[len(mapped) :])

    def unwrap(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Return ``values`` in schema order with the arrays that the tensors hold."""
        return self.map_tensors(_DATA, values)

    def unpack(self, returned: Any, who: Callable[[], str] = str) -> tuple[Any, ...]:
        """Return a kernel's returned value as one value for each result.

        Raises ``KernelResultError`` for another number of results; ``who`` tells whose they are.
        """
        count = len(self.results)
        if count == 1:
            return (returned,)
        if count and (not isinstance(returned, tuple | list) or len(returned) != count):
            raise bad_count(self.name, count, returned, who())
        return tuple(returned) if count else ()

    def pack(self, results: Sequence[Any]) -> Any:
        """Return results as a call does: the only one itself, several as a tuple, None where there is none."""
        return results[0] if len(results) == 1 else tuple(results) or None

    def leaves_out(self, index: int, values: Sequence[Any]) -> bool:
        """Return whether a call does without a result; see Note [Results that a call leaves out]."""
        mask = self.results[index].output_mask
        return mask >= 0 and not values[mask][index]

    def result_tensors(self, results: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Yield the tensors among results, each with the index of its result; None is left out."""
        for index, (result, value) in enumerate(zip(self.results, results, strict=True)):
            if result.kind != "other":
                yield from ((index, item) for item in (value if result.is_list else (value,)) if item is not None)

    def report_writes(self, mutated: Callable[[Any], None], values: Sequence[Any]) -> None:
        """Call ``mutated`` with every tensor that the operator writes to."""
        for index, tensor in self.tensors(values):
            if self.parameters[index].writes:
                mutated(tensor)


def _result(item: Return, arguments: tuple[Argument, ...], output_mask: int) -> Result:
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
    return Result("fresh", **flags, source=-1, output_mask=output_mask)


def _find_output_mask(schema: FunctionSchema) -> int:
    """Return the index of the argument that says which results a call has, or -1."""
    wanted = f"bool[{len(schema.returns)}]"
    found = (
        index for index, each in enumerate(schema.arguments) if each.name == _OUTPUT_MASK and str(each.type) == wanted
    )
    return next(found, -1)


def make_signature(schema: FunctionSchema, is_tensor: Callable[[object], bool]) -> CallSignature:
    """Return the signature of an operator's calls, made of its schema."""
    parameters = []
    for argument in schema.arguments:
        parameters.append(
            CallParameter(
                argument.name,
                tensor_kind(argument.type) or "",
                argument.is_write,
                argument.kwarg_only,
                argument.value,
                str(argument.type),
                argument.type,
                is_tensor,
            )
        )
    devices = [
        index
        for index, parameter in enumerate(parameters)
        if parameter.name == "device" and parameter.type.rstrip("?") == "Device"
    ]
    output_mask = _find_output_mask(schema)
    return CallSignature(
        schema,
        str(schema.name),
        tuple(parameters),
        tuple(_result(item, schema.arguments, output_mask) for item in schema.returns),
        devices[0] if devices else None,
    )


def has_plain_result(signature: CallSignature) -> bool:
    """Return whether the one result of a kernel goes to the caller as it is: an object that is not a tensor, or None."""
    return len(signature.results) < 2 and all(result.kind == "other" for result in signature.results)


def copies_signature(signature: CallSignature) -> CallSignature:
    """Return a signature whose results are fresh tensors instead of views."""
    return replace(signature, results=tuple(replace(each, kind="fresh", source=-1) for each in signature.results))


def bad_count(name: str, expected: int, value: object, who: str = "") -> KernelResultError:
    """Return the error for a kernel that returned the wrong number of results; ``who`` tells whose they are."""
    got = f"{len(value)} results" if isinstance(value, tuple | list) else type(value).__qualname__
    return KernelResultError(
        f"{name}: the kernel returned {got} where the schema promises {expected} results{who and chr(10) + who}"
    )


def bad_list(name: str, value: object, who: str = "") -> KernelResultError:
    """Return the error for a kernel that returned something else than a list of arrays; ``who`` tells whose it is."""
    return KernelResultError(
        f"{name}: the kernel returned {type(value).__module__}.{type(value).__qualname__} where the schema promises a list"
        f" of Tensors{who and chr(10) + who}",
        hint="return a list or a tuple of arrays",
    )
