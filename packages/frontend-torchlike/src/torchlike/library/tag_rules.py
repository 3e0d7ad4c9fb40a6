"""The rules of torch for schemas of libraries: their types, and the promises of the tags ``inplace`` and ``out``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NoReturn

import dispatch_core as dc
from dispatch_core.schema import BaseType, TypeVariable, walk

__all__ = ["check_tagged_schema", "check_types"]

#: Type names of C++, and of Python's objects, that libraries' schemas may not have → torch's advice.
_REFUSED: Final = {
    "int64_t": "Use `SymInt` or `int` to represent integers.",
    "double": "Use `float` to represent floating-point numbers.",
    "PyObject": "Use a type of numbers, texts or tensors.",
}


def check_types(schema: dc.FunctionSchema) -> None:
    """Raise ``SchemaError`` for a schema with a type that no value of a program has.

    >>> check_types(dc.FunctionSchema.parse("f(something x) -> Tensor"))
    Traceback (most recent call last):
    dispatch_core.errors.SchemaError: unknown type specifier 'something' in f(something x) -> Tensor
    Hint: common types are Tensor, SymInt, int, float, bool, Scalar
    """
    for kind in [each.type for each in schema.arguments] + [each.type for each in schema.returns]:
        for part in walk(kind):
            name: str = getattr(part, "name", "")
            if isinstance(part, TypeVariable) or (isinstance(part, BaseType) and name in _REFUSED):
                raise dc.SchemaError(
                    f"unknown type specifier {name!r} in {schema}",
                    hint=_REFUSED.get(name, "common types are Tensor, SymInt, int, float, bool, Scalar"),
                )


def check_tagged_schema(schema: str | dc.FunctionSchema, tags: Sequence[str]) -> None:
    """Raise ``ValueError`` for a schema that does not keep the promises of its tags.

    >>> check_tagged_schema("f(Tensor x) -> Tensor", ["inplace"])
    Traceback (most recent call last):
    ValueError: Schema tagged with torch.Tag.inplace requires the first positional argument to be mutable (e.g., Tensor(a!)).
    Got: f(Tensor x) -> Tensor
    """
    if "out" not in tags and "inplace" not in tags:
        return
    parsed = schema
    if isinstance(schema, str):
        parsed = dc.FunctionSchema.parse(f"f{schema}" if schema.startswith("(") else schema)
    assert isinstance(parsed, dc.FunctionSchema)
    if "out" in tags:
        _check_out(parsed)
    if "inplace" in tags:
        _check_inplace(parsed)


def _check_out(schema: dc.FunctionSchema) -> None:
    def refuse(fault: str) -> NoReturn:
        raise ValueError(f"Schema tagged with torch.Tag.out {fault}.\nGot: {schema}")

    written = [each for each in schema.arguments if each.is_write]
    if not written:
        refuse("must have at least one mutable argument")
    if positional := [each.name for each in written if not each.kwarg_only]:
        refuse(
            "requires all mutable arguments to be keyword-only (after the *). Found mutable positional args: "
            f"{positional}"
        )
    if others := [each.name for each in written if not _is_tensor(each.type)]:
        refuse(f"only supports Tensor mutable arguments. Found unsupported mutable args: {others}")
    if len(written) != len(schema.returns):
        refuse(f"must return all mutable arguments (got {len(written)} mutable args but {len(schema.returns)} returns)")
    for index, (argument, returned) in enumerate(zip(written, schema.returns, strict=True)):
        if not _is_same(argument, returned):
            refuse(
                f"must return its mutable arguments in order: return {index} must alias mutable arg '{argument.name}'"
            )


def _check_inplace(schema: dc.FunctionSchema) -> None:
    def refuse(fault: str) -> NoReturn:
        raise ValueError(f"Schema tagged with torch.Tag.inplace {fault}.\nGot: {schema}")

    if not schema.positional:
        refuse("must have at least one positional argument")
    first = schema.positional[0]
    if not first.is_write:
        refuse("requires the first positional argument to be mutable (e.g., Tensor(a!))")
    if not _is_tensor(first.type):
        refuse(f"requires the first positional argument to be a Tensor. Got type '{first.type}' for arg '{first.name}'")
    if len(schema.returns) != 1:
        refuse(f"must return exactly one value (the first argument). Got {len(schema.returns)} returns")
    if not _is_same(first, schema.returns[0]):
        refuse("must return the first mutable argument (return must alias the first argument)")
    if others := [each.name for each in schema.arguments[1:] if each.is_write]:
        refuse(f"must only mutate the first positional argument. Found additional mutable args: {others}")


def _is_tensor(kind: Any) -> bool:
    return getattr(kind, "name", None) == "Tensor"


def _is_same(argument: Any, returned: Any) -> bool:
    """Return whether a result is declared to be an argument that is written to."""
    given, found = argument.alias, returned.alias
    return bool(_is_tensor(returned.type) and found is not None and found.is_write and found.before == given.before)
