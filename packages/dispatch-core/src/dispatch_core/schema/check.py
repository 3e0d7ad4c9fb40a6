"""Hold a call's arguments against a schema: bind them in schema order, check each, and name those that do not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NoReturn, TypeAlias

from dispatch_core.errors import ArgumentError, NoMatchingOverloadError

from .model import MISSING, Argument, FunctionSchema, tensor_kind
from .types import walk
from .values import IsTensor, checker, expectation
from .words import declaration

__all__ = [
    "argument_error",
    "bind",
    "checker",
    "describe_call",
    "invalid_combination",
    "matches",
    "mismatch",
    "type_hints",
]

# How many elements of a list are named in a message.
_SHOWN = 4


#: Functions of a schema, a value that is not a tensor, and all arguments of a call, to a hint at the types that are taken.
#: The registries, which know them, add one; it is asked once a call is refused. The schema is None where several fit.
type_hints: Final[list[Callable[[FunctionSchema | None, object, Sequence[object]], str]]] = []


class _MisfitError(Exception):
    """A call that does not fit: ``reason`` reads on from the operator's name."""

    def __init__(self, reason: str, find_hint: Callable[[], str | None] = lambda: None) -> None:
        super().__init__(reason)
        self.reason = reason
        #: Returns the hint: most misfits are those of overloads that are passed over.
        self.find_hint = find_hint


#: The facts of a schema that binding needs, made once for each schema and predicate: each argument's check, the position
#: that each name stands for, and how many arguments go by position.
_Slots: TypeAlias = tuple[tuple[Callable[[object], object], ...], dict[str, int], int]


def bind(
    schema: FunctionSchema,
    args: Sequence[object],
    kwargs: Mapping[str, object],
    is_tensor: IsTensor,
    *,
    is_hinted: bool = True,
) -> tuple[object, ...]:
    """Return the values of all arguments in schema order, checked and with every default filled in.

    Further positional arguments of a schema that ends in ``...`` come last, unchecked. Without ``is_hinted`` the error has
    no hint, which takes the longest to find.
    Raises ``ArgumentError``, with the operator's declaration, for arguments that are missing, unexpected, given twice,
    of a wrong type, or given by position where only a keyword will do.

    >>> schema = FunctionSchema.parse("f(int x, int[2] size=1, *, float p=0.5) -> ()")
    >>> bind(schema, (7,), {"size": 3}, lambda value: False)
    (7, (3, 3), 0.5)
    >>> bind(schema, ("7",), {}, lambda value: False)
    Traceback (most recent call last):
    dispatch_core.errors.ArgumentError: f(): argument 'x' (position 1) must be int, not str
    Declaration: f(int x, int[2] size=1, *, float p=0.5) -> ()
    """
    try:
        return _bind(schema, args, kwargs, is_tensor)
    except _MisfitError as misfit:
        fault = _fault(schema, misfit.reason, misfit.find_hint() if is_hinted else None)
    # Raised outside the handler, so that no inner exception is shown with it.
    raise fault


def mismatch(
    schema: FunctionSchema, args: Sequence[object], kwargs: Mapping[str, object], is_tensor: IsTensor
) -> str | None:
    """Return why a call does not fit a schema, or None if it does; the text reads on from the operator's name.

    >>> mismatch(FunctionSchema.parse("f(int x) -> ()"), (), {}, lambda value: False)
    "() missing 1 required positional argument: 'x'"
    """
    try:
        _bind(schema, args, kwargs, is_tensor)
    except _MisfitError as misfit:
        return misfit.reason
    return None


def matches(
    schema: FunctionSchema,
    args: Sequence[object],
    kwargs: Mapping[str, object],
    is_tensor: IsTensor,
    *,
    strict: bool = False,
) -> bool:
    """Return whether a call fits a schema; a ``strict`` one lets no object represent a number.

    >>> matches(FunctionSchema.parse("f(int x) -> ()"), (1,), {}, lambda value: False)
    True
    """
    try:
        _bind(schema, args, kwargs, is_tensor, strict=strict)
    except _MisfitError:
        return False
    return True


def argument_error(schema: FunctionSchema, index: int, value: object, reason: str | None = None) -> ArgumentError:
    """Return the error for one argument's wrong value.

    ``reason`` is the text of the error of the argument's checker; without it, the value is checked again.

    >>> schema = FunctionSchema.parse("f(int[] size) -> ()")
    >>> print(argument_error(schema, 0, (1, "2")))
    f(): argument 'size' (position 1) must be tuple of ints, but found element of type str at pos 1
    Declaration: f(int[] size) -> ()
    """
    argument = schema.arguments[index]
    return _fault(schema, _wrong_value(argument, index, reason or _reason(argument, value)), _suggest(argument, value))


def invalid_combination(
    name: str,
    schemas: Iterable[FunctionSchema],
    args: Sequence[object],
    kwargs: Mapping[str, object],
    is_tensor: IsTensor,
) -> NoMatchingOverloadError:
    """Return the error for a call that fits none of an operator's overloads, with the reason for each.

    >>> schemas = [FunctionSchema.parse("f.int(int x) -> ()"), FunctionSchema.parse("f.str(str x) -> ()")]
    >>> print(invalid_combination("f", schemas, (0.5,), {}, lambda value: False))
    f() received an invalid combination of arguments - got (float), but expected one of:
     * f.int(int x) -> ()
         argument 'x' (position 1) must be int, not float
     * f.str(str x) -> ()
         argument 'x' (position 1) must be str, not float
    """
    schemas = _asked_for(schemas, kwargs)
    if len(schemas) == 1:
        reason, hint = "() does not fit", None
        try:
            _bind(schemas[0], args, kwargs, is_tensor)
        except _MisfitError as misfit:
            reason, hint = misfit.reason, misfit.find_hint()
        return NoMatchingOverloadError(f"{name}{reason}\nDeclaration: {declaration(schemas[0])}", hint=hint)
    got = describe_call(args, kwargs)
    lines = [f"{name}() received an invalid combination of arguments - got {got}, but expected one of:"]
    for schema in schemas:
        reason = mismatch(schema, args, kwargs, is_tensor) or "fits"
        lines += [f" * {declaration(schema)}", f"     {reason.removeprefix('():').removeprefix('()').strip()}"]
    given = [*args, *kwargs.values()]
    hints = (_hint_at_types(None, value, given, is_tensor) for value in given)
    return NoMatchingOverloadError("\n".join(lines), hint=next(filter(None, hints), None))


def _asked_for(schemas: Iterable[FunctionSchema], kwargs: Mapping[str, object]) -> list[FunctionSchema]:
    """Return the schemas without those that write into ``out``, unless the call names one of these arguments."""
    found = list(schemas)
    outputs = [{each.name for each in schema.keyword_only if each.is_write} for schema in found]
    if any(name in kwargs for names in outputs for name in names):
        return found
    return [schema for schema, names in zip(found, outputs, strict=True) if not names] or found


def describe_call(args: Sequence[object], kwargs: Mapping[str, object]) -> str:
    """Spell the types of a call's arguments, as in torch's messages.

    >>> describe_call((1, [2, 3.0]), {"out": None})
    '(int, list of [int, float], out=NoneType)'
    """
    given = [_type_name(value) for value in args]
    given += [f"{name}={_type_name(value)}" for name, value in kwargs.items()]
    return f"({', '.join(given)})"


def _type_name(value: object) -> str:
    if not isinstance(value, list | tuple) or not value:
        return type(value).__name__
    shown = ", ".join(type(item).__name__ for item in value[:_SHOWN])
    more = ", ..." if len(value) > _SHOWN else ""
    return f"list of [{shown}{more}]" if isinstance(value, list) else f"tuple of ({shown}{more})"


def _fault(schema: FunctionSchema, reason: str, hint: str | None = None) -> ArgumentError:
    return ArgumentError(f"{schema.name}{reason}\nDeclaration: {declaration(schema)}", hint=hint)


def _wrong_value(argument: Argument, index: int, reason: str) -> str:
    position = "" if argument.kwarg_only else f" (position {index + 1})"
    return f"(): argument {argument.name!r}{position} {reason}"


def _reason(argument: Argument, value: object) -> str:
    general = f"must be {expectation(argument.type)}, not {type(value).__name__}"
    # Which elements are tensors is not known here, so only a type without tensors can be checked again.
    if any(str(part).startswith("Tensor") for part in walk(argument.type) if not part.parts):
        return general
    try:
        checker(argument.type, lambda _: False)(value)
    except TypeError as wrong:
        return str(wrong)
    return general


def _suggest(argument: Argument, value: object) -> str | None:
    if isinstance(value, tuple) and value and expectation(argument.type) == "Tensor":
        return f"it is a tuple of {len(value)}: pass one of its elements"
    return None


def _hint_at_types(
    schema: FunctionSchema | None, value: object, values: Sequence[object], is_tensor: IsTensor
) -> str | None:
    """Return a hint at the types that are taken instead of a value, or of an element of it, if there is one."""
    strange = (each for each in (value if isinstance(value, list | tuple) else [value]) if not is_tensor(each))
    for each in strange:
        return next(filter(None, (find(schema, each, values) for find in type_hints)), None)
    return None


def _slots(schema: FunctionSchema, is_tensor: IsTensor, strict: bool) -> _Slots:
    key = ("slots", is_tensor, strict)
    found: _Slots | None = schema._cache.get(key)  # the model keeps it for the whole folder
    if found is None:
        positions: dict[str, int] = {}
        for index, argument in enumerate(schema.arguments):
            # torch accepts a name twice; the first one answers to it.
            positions.setdefault(argument.name, index)
        checks = tuple(checker(argument.type, is_tensor, strict=strict) for argument in schema.arguments)
        found = schema._cache[key] = checks, positions, len(schema.positional)
    return found


def _bind(
    schema: FunctionSchema,
    args: Sequence[object],
    kwargs: Mapping[str, object],
    is_tensor: IsTensor,
    *,
    strict: bool = False,
) -> tuple[object, ...]:
    checks, positions, positional = _slots(schema, is_tensor, strict)
    extra: Sequence[object] = ()
    if len(args) > positional:
        if not schema.is_vararg:
            _too_many(schema, len(args), positional)
        args, extra = args[:positional], args[positional:]
    values: list[object] = [*args, *(argument.value for argument in schema.arguments[len(args) :])]
    for name, value in kwargs.items():
        index = positions.get(name)
        if index is None:
            raise _MisfitError(f"() got an unexpected keyword argument {name!r}")
        if index < len(args):
            raise _MisfitError(f"() got multiple values for argument {name!r}")
        values[index] = value
    # Compared by identity: a tensor's == is an operator call of its own.
    if any(value is MISSING for value in values):
        _missing(schema, values)
    for index, argument in enumerate(schema.arguments):
        value = values[index]
        # A default stands outside its type's rules: ``Tensor x=None`` passes None.
        if value is argument.value:
            continue
        try:
            values[index] = checks[index](value)
        except TypeError as wrong:
            reason = str(wrong)
        else:
            continue

        def find_hint(argument: Argument = argument, value: object = value) -> str | None:
            found = _suggest(argument, value)
            is_array = found is None and tensor_kind(argument.type)
            return _hint_at_types(schema, value, values, is_tensor) if is_array else found

        raise _MisfitError(_wrong_value(argument, index, reason), find_hint)
    return (*values, *extra)


def _too_many(schema: FunctionSchema, given: int, most: int) -> NoReturn:
    least = sum(not argument.has_default for argument in schema.positional)
    takes = f"{most} positional argument{'' if most == 1 else 's'}"
    if least < most:
        takes = f"from {least} to {most} positional arguments"
    names = [argument.name for argument in schema.keyword_only]
    hint = f"{_join(names)} can be given by keyword only" if names else None
    raise _MisfitError(f"() takes {takes} but {given} {'was' if given == 1 else 'were'} given", lambda: hint)


def _missing(schema: FunctionSchema, values: list[object]) -> NoReturn:
    absent = [argument for argument, value in zip(schema.arguments, values, strict=True) if value is MISSING]
    # As Python itself does, positional arguments are reported first and keyword-only ones in a second attempt.
    names = [argument.name for argument in absent if argument.kwarg_only is absent[0].kwarg_only]
    kind = "keyword-only" if absent[0].kwarg_only else "positional"
    plural = "" if len(names) == 1 else "s"
    raise _MisfitError(f"() missing {len(names)} required {kind} argument{plural}: {_join(names)}")


def _join(names: Sequence[str]) -> str:
    quoted = [repr(name) for name in names]
    if len(quoted) < 3:
        return " and ".join(quoted)
    return f"{', '.join(quoted[:-1])}, and {quoted[-1]}"
