"""torch's functions and methods, made from the operator library's table and a few exceptions to it.

Every operator ``aten::name`` becomes ``torchlike.name``, and ``Tensor.name`` where its first argument is a tensor, unless
one of the tables below says otherwise. Python's names for arguments (``input``, ``axis``) are mapped to the schema's, and
sizes may be written one by one where torch allows it.
"""

from __future__ import annotations

import re
from collections import namedtuple
from collections.abc import Callable
from typing import Any, Final

import numpy as np

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType
from dispatch_aten.errors import UnsupportedError
from dispatch_aten.operators import ATEN

from .creation import FACTORIES, finish, tensor
from .devices import as_device
from .dtypes import result_type
from .tensors import Tensor

__all__ = ["FUNCTIONAL", "FUNCTIONS", "METHODS", "NUMBER_OVERLOADS", "PLAIN_NUMBERS", "QUICK", "TENSOR_OVERLOADS"]

#: Operators that are only methods in torch.
_METHODS_ONLY: Final = frozenset(
    "contiguous expand expand_as index item new_empty new_empty_strided new_full new_ones new_zeros repeat reshape_as"
    " sum_to_size to type_as view view_as".split()
)
#: Operators that are only functions.
_FUNCTIONS_ONLY: Final = frozenset(
    "_log_softmax _softmax binary_cross_entropy_with_logits broadcast_tensors cat concat dropout embedding empty_like"
    " full_like hstack meshgrid native_dropout ones_like rand_like randint_like randn_like stack threshold var_mean vstack"
    " zeros_like rsub".split()
)
#: Operators that torch has in ``nn.functional`` alone.
_FUNCTIONAL_ONLY: Final = frozenset(
    "cross_entropy_loss elu gelu l1_loss leaky_relu linear mse_loss nll_loss_nd one_hot silu softplus".split()
)
#: In-place operators that are functions as well.
_INPLACE_FUNCTIONS: Final = frozenset(
    "abs_ acos_ acosh_ asin_ asinh_ atan_ atanh_ ceil_ clamp_ clamp_max_ clamp_min_ clip_ cos_ cosh_ dropout_ erf_ erfc_"
    " exp2_ exp_ expm1_ fill_ floor_ frac_ index_put_ log10_ log1p_ log2_ log_ nan_to_num_ neg_ negative_ reciprocal_ relu_"
    " round_ rsqrt_ sigmoid_ sin_ sinh_ sqrt_ square_ tan_ tanh_ threshold_ trunc_ zero_".split()
)
#: Operators that users do not see: backward's own, and the steps of others.
_HIDDEN: Final = frozenset(
    "_local_scalar_dense _to_copy _unsafe_view alias copy nonzero_numpy numpy_T slice mT nll_loss".split()
)
#: Methods whose sizes may be written one by one: ``t.view(2, 3)``.
_SIZES: Final = frozenset(
    "expand flip new_empty new_ones new_zeros permute repeat reshape resize_ sum_to_size tile view".split()
)
#: NumPy's names for arguments, which torch takes too.
_ALIASES: Final = {"axis": "dim", "keepdims": "keepdim"}

_VIEW_HINT: Final = (
    "write .to(dtype) to convert the values; x.numpy().view(...) reads the bytes of a cpu tensor otherwise"
)

_WRITTEN: Final = re.compile(r"Tensor\([a-z]!\) (\w+)(?=[,)])")
_FIRST: Final = re.compile(r"[\w.]+\(Tensor(?:\([^)]*\))? (\w+)")


class _Operator:
    """What the table says of all overloads of one name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.schemas: list[str] = []

    @property
    def first(self) -> str:
        """The name of the first argument if that is a tensor, else ""."""
        found = _FIRST.match(self.schemas[0])
        return found[1] if found else ""

    @property
    def is_like(self) -> bool:
        """Whether the operator makes a tensor like another one, on any device."""
        return self.name.endswith("_like") or self.name.startswith("new_")

    @property
    def unary(self) -> bool:
        """Whether there is nothing to give but the tensor and perhaps ``out``."""
        return len([schema for schema in self.schemas if "out)" not in schema]) == 1 and "," not in self.schemas[0]

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of several results, if they have any."""
        for schema in self.schemas:
            returned = schema.rpartition(" -> ")[2]
            if returned.startswith("(") and "!" not in returned and " " in returned.split(",")[0].strip("("):
                return tuple(part.split()[1] for part in returned.strip("()").split(","))
        return None


def _read() -> dict[str, _Operator]:
    found: dict[str, _Operator] = {}
    for row in ATEN:
        base = row.name.partition(".")[0]
        found.setdefault(base, _Operator(base)).schemas.append(row.schema)
    return found


def _named_results(name: str, fields: tuple[str, ...]) -> Callable[..., Any]:
    """Make the class of an operator's named results, printed as torch prints it."""
    base: Any = namedtuple(name, fields)  # type: ignore[misc]  # noqa: PYI024  # known at run time only

    def text(self: Any) -> str:
        inner = ",\n".join(f"{field}={value!r}" for field, value in zip(fields, self, strict=True))
        return f"torchlike.return_types.{name}(\n{inner})"

    return type(name, (base,), {"__slots__": (), "__repr__": text, "__module__": "torchlike.return_types"})


def _packed(name: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Gather sizes that are written one by one: ``(t, 2, 3)`` to ``(t, (2, 3))``."""
    if name == "view" and len(args) == 2 and isinstance(args[1], (ScalarType, type)):
        raise UnsupportedError("view(dtype) is not implemented: a view has the dtype of its base", hint=_VIEW_HINT)
    if len(args) > 1 and (len(args) > 2 or isinstance(args[1], (int, Tensor, np.integer))):
        return (args[0], args[1:])
    return args


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _on_device(template: Tensor, device: dc.Device) -> Tensor:
    """Make a tensor of the same layout and dtype on another device, without data worth reading."""
    made = dc.ops.aten.empty_strided.default(template.shape, template.stride(), dtype=template.dtype, device=device)
    return finish(made, False)


def _general(operator: _Operator) -> Callable[..., Any]:
    """Make a function that binds its arguments as torch does and leaves the choice of overload to the dispatcher."""
    name = operator.name
    sizes, like = name in _SIZES, operator.is_like
    fields = operator.names
    results = None if fields is None else _named_results(name, fields)
    rename = operator.first == "self"
    taken = " ".join(operator.schemas)
    aliases = {alias: real for alias, real in _ALIASES.items() if f" {alias}" not in taken and f" {real}" in taken}
    written = next((found for schema in operator.schemas if len(found := _WRITTEN.findall(schema)) > 1), ())
    packet = getattr(dc.ops.aten, name)
    overloads = [getattr(packet, each) for each in packet.overloads()]
    # What a call without keywords on a tensor alone, or on a tensor and sizes, runs without looking for an overload.
    alone = next(filter(_takes_tensor_alone, overloads), packet)
    sized = next(filter(_takes_sizes, overloads), None) if sizes and not like else None

    empty = {
        argument.name: place
        for overload in overloads
        for place, argument in enumerate(overload.schema.arguments)
        if argument.has_default and argument.default in ([], ())
    }

    def function(*args: Any, **kwargs: Any) -> Any:
        requires_grad = False
        if not kwargs:
            if len(args) == 1 and results is None:
                return alone(*args)
            if sized is not None:
                given = args[1] if len(args) == 2 and isinstance(args[1], (tuple, list)) else args[1:]
                if {*map(type, given)} == _ONLY_INT:
                    return sized(args[0], given)
        else:
            if rename and not args and "input" in kwargs:
                args = (kwargs.pop("input"),)
            for alias, real in aliases.items():
                if alias in kwargs:
                    kwargs[real] = kwargs.pop(alias)
            if like:
                requires_grad = kwargs.pop("requires_grad", False)
                device = as_device(kwargs.pop("device", None))
                if device is not None and args and isinstance(args[0], Tensor) and device != args[0].device:
                    args = (_on_device(args[0], device), *args[1:])
            if "out" in kwargs:
                out = kwargs.pop("out")
                if isinstance(out, (list, tuple)):
                    kwargs.update(zip(written, out, strict=False))
                elif out is not None:
                    kwargs["out"] = out
        if sizes:
            args = _packed(name, args)
        try:
            found = packet(*args, **kwargs)
        except dc.DispatchError:
            listed = _lists_for_none(empty, args, kwargs)
            if listed is None:
                raise
            found = packet(*listed[0], **listed[1])
        if requires_grad:
            return finish(found, requires_grad)
        return results(*found) if results is not None and type(found) is tuple else found

    return function


def _lists_for_none(
    empty: dict[str, int], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]] | None:
    """Put a list for None where ``empty`` says that the schema's default is one, as torch does; None if there is none."""
    wanted = {key for key, place in empty.items() if (args[place] if place < len(args) else kwargs.get(key, 0)) is None}
    if not wanted:
        return None
    places = {empty[key] for key in wanted}
    found = [[] if place in places else each for place, each in enumerate(args)]
    return found, {key: [] if key in wanted else value for key, value in kwargs.items()}


_ONLY_INT: Final = {int}


def _takes_tensor_alone(overload: Any) -> bool:
    first, *rest = overload.schema.arguments
    return str(first.type) == "Tensor" and all(argument.has_default for argument in rest)


def _takes_sizes(overload: Any) -> bool:
    arguments = overload.schema.positional
    return len(arguments) > 1 and str(arguments[1].type) in ("SymInt[]", "int[]")


def _unary(operator: _Operator) -> Callable[..., Any]:
    """Make a function of one tensor that is the overload itself, but for the argument's name and ``out``."""
    overload = getattr(dc.ops.aten, operator.name).default
    general = _general(operator)

    def otherwise(input: Any, *, out: Any = None) -> Any:
        return overload(input) if out is None else general(input, out=out)

    return dc.respell(overload, operator.name, Tensor, otherwise, names={"self": "input"}, extra={"out": None})


def _binary(operator: _Operator) -> Callable[..., Any]:
    """Make a function that is the overload for two tensors itself, but for the arguments' names and ``out``.

    A tensor and a plain number go to their overload directly, and anything else to the packet.
    """
    packet = getattr(dc.ops.aten, operator.name)
    overloads = {name: getattr(packet, name) for name in packet.overloads()}
    tensors = next(overloads[name] for name in ("Tensor", "Tensor_Tensor", "default") if name in overloads)
    numbers = next((overloads[name] for name in ("Tensor_Scalar", "Scalar") if name in overloads), packet)
    TENSOR_OVERLOADS[operator.name], NUMBER_OVERLOADS[operator.name] = tensors, numbers
    general, number_first = _general(operator), NUMBER_FIRST.get(operator.name)
    own = {argument.name: argument.default for argument in tensors.schema.keyword_only}
    defaults = {
        **{each.name: None for overload in overloads.values() for each in overload.schema.keyword_only},
        **own,
    }

    def otherwise(input: Any, other: Any, **given: Any) -> Any:
        given = {name: value for name, value in given.items() if value is not defaults.get(name, _MISSING)}
        if not given:
            if type(other) in PLAIN_NUMBERS and isinstance(input, Tensor):
                return numbers(input, other)
            if number_first is not None and isinstance(input, _NUMBERS) and isinstance(other, Tensor):
                return number_first(_number(input), other)
            return packet(_number(input), _number(other))
        if isinstance(input, _NUMBERS) and isinstance(other, Tensor):
            input = _like(_number(input), other)
        elif "out" in given and isinstance(other, _NUMBERS) and isinstance(input, Tensor) and not number_out:
            number = _number(other)
            # A quotient is one of floats, also of an integer that the tensor's dtype cannot hold.
            divided = operator.name == "div" and given.get("rounding_mode") is None and type(number) is int
            other = _like(float(number) if divided else number, input)
        return general(input, _number(other), **given)

    number_out = any(name.endswith("Scalar_out") for name in overloads)
    extra = {name: default for name, default in defaults.items() if name not in own}
    names = {"self": "input"}
    return dc.respell(tensors, operator.name, Tensor, otherwise, names=names, extra=extra, elsewhere=PLAIN_NUMBERS)


_MISSING: Final = object()


def _like(number: Any, self: Tensor) -> Tensor:
    """Make a tensor of a number in the dtype that the number and ``self`` promote to; an integer beyond it wraps around."""
    found: Tensor = tensor(number, device=self.device)
    return found if isinstance(number, bool) else found.to(result_type(self, number))


#: The types of numbers that need no second look.
PLAIN_NUMBERS: Final = frozenset({int, float})
_NUMBERS: Final = (bool, int, float, complex, np.generic)

#: What an operator on a number and a tensor is, where no overload takes the number first.
NUMBER_FIRST: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "add": lambda number, self: FUNCTIONS["add"](self, number),
    "bitwise_and": lambda number, self: FUNCTIONS["bitwise_and"](self, number),
    "bitwise_or": lambda number, self: FUNCTIONS["bitwise_or"](self, number),
    "bitwise_xor": lambda number, self: FUNCTIONS["bitwise_xor"](self, number),
    "div": lambda number, self: FUNCTIONS["reciprocal"](self) * number,
    "floor_divide": lambda number, self: FUNCTIONS["floor_divide"](_like(number, self), self),
    "mul": lambda number, self: FUNCTIONS["mul"](self, number),
    "sub": lambda number, self: FUNCTIONS["rsub"](self, number),
}

_BINARY: Final = frozenset(
    "add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor div eq fmod ge gt le logical_and"
    " logical_or logical_xor lt matmul maximum minimum mul ne pow remainder sub floor_divide add_ sub_ mul_ div_".split()
)


def _make(operator: _Operator) -> Callable[..., Any]:
    if operator.name in _BINARY:
        function = _binary(operator)
    elif operator.unary and operator.first == "self":
        function = _unary(operator)
    else:
        function = _general(operator)
    function.__name__ = function.__qualname__ = operator.name
    function.__module__ = "torchlike"
    listed = "\n    ".join(operator.schemas)
    function.__doc__ = f"Source: ``torch.{operator.name}``.\n\n    {listed}\n"
    return function


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {}
METHODS: Final[dict[str, Callable[..., Any]]] = {}
FUNCTIONAL: Final[dict[str, Callable[..., Any]]] = {}
#: The overloads for two tensors of the binary functions.
TENSOR_OVERLOADS: Final[dict[str, Any]] = {}
#: What a tensor and a plain number go to.
NUMBER_OVERLOADS: Final[dict[str, Any]] = {}
#: The functions that go straight to an overload, for code that is generated.
QUICK: Final[dict[str, Callable[..., Any]]] = {}


def _fill() -> None:
    for name, operator in _read().items():
        if name in _HIDDEN or name in FACTORIES or name.endswith(("_backward", "_backward_data", "_forward", "__")):
            continue
        function = _make(operator)
        if name in _BINARY or (operator.unary and operator.first == "self"):
            QUICK[name] = function
        if name.rstrip("_") in _FUNCTIONAL_ONLY:
            FUNCTIONAL[name] = function
            continue
        if name not in _METHODS_ONLY and (not name.endswith("_") or name in _INPLACE_FUNCTIONS):
            FUNCTIONS[name] = function
        if operator.first == "self" and name not in _FUNCTIONS_ONLY:
            METHODS[name] = function


def _as_tuple(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a list of tensors as a tuple, as torch does; tensors may be given one by one or as one list."""

    def many(*args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
        return tuple(function(*args, **kwargs))

    return many


def _of_tensors(function: Callable[..., Any]) -> Callable[..., Any]:
    def many(*tensors: Any, **kwargs: Any) -> tuple[Tensor, ...]:
        given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
        return tuple(function(list(given), **kwargs))

    return many


def _split(function: Callable[..., Any]) -> Callable[..., Any]:
    by_sizes = FUNCTIONS["split_with_sizes"]

    def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
        one = not isinstance(split_size_or_sections, (list, tuple))
        return tuple((function if one else by_sizes)(tensor, split_size_or_sections, dim))

    return split


def _split_method(self: Tensor, split_size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Give the parts of this size, or of these sizes, along a dimension."""
    found: tuple[Tensor, ...] = FUNCTIONS["split"](self, split_size, dim)
    return found


def _tensor_split(function: Callable[..., Any]) -> Callable[..., Any]:
    def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
        where = indices_or_sections
        return tuple(function(input, where.tolist() if isinstance(where, Tensor) else where, dim))

    return tensor_split


def _nonzero(function: Callable[..., Any]) -> Callable[..., Any]:
    by_dimension = dc.ops.aten.nonzero_numpy

    def nonzero(input: Tensor, *, out: Any = None, as_tuple: bool = False) -> Any:
        if as_tuple:
            return tuple(by_dimension(input))
        return function(input) if out is None else function(input, out=out)

    return nonzero


def _norm(function: Callable[..., Any]) -> Callable[..., Any]:
    def norm(input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
        if isinstance(p, str):
            if p != "fro":
                raise NotImplementedError(f"norm(): p={p!r} is not implemented; numbers and 'fro' are")
            p = 2
        options = {} if dtype is None else {"dtype": dtype}
        if dim is None and not keepdim:
            found: Tensor = function(input, p, **options)
            return found
        found = function(input, p, [] if dim is None else dim, keepdim, **options)
        return found

    return norm


def _where(function: Callable[..., Any]) -> Callable[..., Any]:
    def where(condition: Tensor, *args: Any, **kwargs: Any) -> Any:
        found = function(condition, *map(_number, args), **kwargs)
        return tuple(found) if isinstance(found, list) else found

    return where


def _of_some(error: type[Exception], text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Refuse an empty list in torch's words; with no tensor in the call, the dispatcher knows no device to go to."""

    def adapt(function: Callable[..., Any]) -> Callable[..., Any]:
        def join(tensors: Any, *args: Any, **kwargs: Any) -> Tensor:
            if not isinstance(tensors, Tensor) and not len(tensors):
                raise error(text)
            found: Tensor = function(tensors, *args, **kwargs)
            return found

        return join

    return adapt


#: Functions that take or give something else than the operator of their name.
_ADAPTED: Final[dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]]] = {
    "broadcast_tensors": _of_tensors,
    "cat": _of_some(ValueError, "torchlike.cat(): expected a non-empty list of Tensors"),
    "chunk": _as_tuple,
    "concat": _of_some(ValueError, "torchlike.cat(): expected a non-empty list of Tensors"),
    "hstack": _of_some(RuntimeError, "hstack expects a non-empty TensorList"),
    "meshgrid": _of_tensors,
    "nonzero": _nonzero,
    "norm": _norm,
    "split": _split,
    "split_with_sizes": _as_tuple,
    "stack": _of_some(RuntimeError, "stack expects a non-empty TensorList"),
    "tensor_split": _tensor_split,
    "unbind": _as_tuple,
    "vstack": _of_some(RuntimeError, "vstack expects a non-empty TensorList"),
    "where": _where,
}


def _adapt() -> None:
    for name, adapt in _ADAPTED.items():
        plain = FUNCTIONS[name]
        function = adapt(plain)
        function.__name__, function.__qualname__, function.__doc__ = name, name, plain.__doc__
        FUNCTIONS[name] = function
        if name in METHODS:
            METHODS[name] = function


def _where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """Give the elements of the tensor where ``condition`` holds, those of ``other`` elsewhere."""
    found: Tensor = FUNCTIONS["where"](condition, self, other)
    return found


_fill()
_adapt()
METHODS["where"] = _where_method
METHODS["split"] = _split_method
