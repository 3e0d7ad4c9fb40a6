"""Questions about operators and schemas (source: ``torch._library.utils``)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import dispatch_core as dc

from ..fakes import Kernel
from ..formulas import has_keyword_tensors, is_functional
from ..functions import find_overload, split_name
from ..operator_kernels import find_device_argument, iterate_tensors

__all__ = [
    "Kernel",
    "RegistrationHandle",
    "can_generate_trivial_fake_impl",
    "fill_defaults",
    "get_device_arg_index",
    "get_layout_constraint_tag",
    "get_source",
    "has_kwarg_only_args",
    "has_kwarg_only_tensors",
    "has_tensor_arg",
    "is_builtin",
    "is_functional_schema",
    "is_inplace",
    "is_out",
    "is_tensor_like_type",
    "is_tensorlist_like_type",
    "iter_tensors",
    "lookup_op",
    "mutated_args_kwargs",
    "mutates_and_returns_first_arg",
    "parse_namespace",
    "zip_schema",
]

#: The tags for strides, the strictest first.
_LAYOUT_TAGS = ("needs_exact_strides", "needs_contiguous_strides", "needs_fixed_stride_order", "flexible_layout")

parse_namespace, lookup_op = split_name, find_overload
has_kwarg_only_tensors, get_device_arg_index = has_keyword_tensors, find_device_argument


class RegistrationHandle:
    """An object by which a registration is taken back."""

    def __init__(self, on_destroy: Callable[[], Any]) -> None:
        self._on_destroy = on_destroy

    def destroy(self) -> None:
        """Take the registration back."""
        self._on_destroy()


def get_source(stacklevel: int) -> str:
    """Return the file and line of a caller, ``/path/to/file.py:42``; 1 is the caller of this function."""
    frame = sys._getframe(stacklevel)
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def is_builtin(op: Any) -> bool:
    """Return whether an operator is one of the library's own."""
    return op.namespace in {"aten", "prim", "prims"}


def is_out(op: Any) -> bool:
    """Return whether an operator is tagged as one that writes to ``out`` arguments."""
    return "out" in op.tags


def is_inplace(op: Any) -> bool:
    """Return whether an operator is tagged as one that writes to its first argument and returns it."""
    return "inplace" in op.tags


def is_functional_schema(schema: Any, *, allow_valid_view: bool = False) -> bool:
    """Return whether an operator writes to nothing, and has results, views only of one tensor and where they are allowed.

    >>> is_functional_schema("f(Tensor x) -> Tensor"), is_functional_schema("f(Tensor(a!) x) -> Tensor")
    (True, False)
    """
    parsed = dc.FunctionSchema.parse(schema) if isinstance(schema, str) else schema
    if is_functional(parsed):
        return True
    inputs, outputs = (
        [_spell(each.type) for each in part].count("Tensor") for part in (parsed.arguments, parsed.returns)
    )
    return allow_valid_view and not parsed.is_mutable and inputs == outputs == 1


def is_tensor_like_type(typ: Any) -> bool:
    """Return whether a type of a schema is ``Tensor`` or ``Tensor?``."""
    return _spell(typ) in ("Tensor", "Tensor?")


def is_tensorlist_like_type(typ: Any) -> bool:
    """Return whether a type of a schema is a list of tensors, optional or of optional ones."""
    return _spell(typ) in ("Tensor[]", "Tensor?[]", "Tensor[]?", "Tensor?[]?")


def _spell(typ: Any) -> str:
    """Return a type without its alias annotations."""
    text = str(typ)
    while "(" in text:
        before, _, after = text.partition("(")
        text = before + after.partition(")")[2]
    return text


def has_kwarg_only_args(schema: Any) -> bool:
    """Return whether a schema has keyword-only arguments."""
    return bool(schema.keyword_only)


def has_tensor_arg(schema: Any) -> bool:
    """Return whether a schema has tensors among its arguments."""
    return bool(schema.tensor_arguments)


def mutated_args_kwargs(schema: Any) -> tuple[list[int], list[str]]:
    """Return the places of the written positional arguments, and the names of the written keyword-only ones."""
    places = [index for index, each in enumerate(schema.arguments) if each.is_write and not each.kwarg_only]
    return places, [each.name for each in schema.arguments if each.is_write and each.kwarg_only]


def mutates_and_returns_first_arg(op: Any) -> bool:
    """Return whether an operator of ``aten`` writes to its first argument alone, and returns it.

    >>> import torchlike
    >>> mutates_and_returns_first_arg(torchlike.ops.aten.add_.Tensor)
    True
    """
    schema = op.schema
    if op.namespace != "aten" or len(schema.returns) != 1 or not schema.arguments:
        return False
    first, returned = schema.arguments[0].alias, schema.returns[0].alias
    return bool(
        first is not None
        and first.is_write
        and returned is not None
        and first.after == returned.after
        and all(each.alias is None for each in schema.arguments[1:])
    )


def fill_defaults(schema: Any, args: Any, kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return a call's arguments with the defaults of those that it leaves out."""
    positional = schema.positional
    given = (*args, *[each.value for each in positional[len(args) :]])
    return given, {each.name: kwargs.get(each.name, each.value) for each in schema.keyword_only}


def zip_schema(schema: Any, args: Any, kwargs: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Yield the arguments of a schema with the values that a call gives for them."""
    for index, argument in enumerate(schema.arguments):
        if not argument.kwarg_only and index < len(args):
            yield argument, args[index]
        elif argument.name in kwargs:
            yield argument, kwargs[argument.name]


def iter_tensors(args: Any, kwargs: dict[str, Any], allowed_nesting: int = 1) -> Iterator[Any]:
    """Yield the tensors among a call's arguments, those in lists too."""
    yield from iterate_tensors((*args, *kwargs.values()))


def can_generate_trivial_fake_impl(op: Any) -> bool:
    """Return whether the effect of an operator on shapes follows from its schema and tags."""
    if is_builtin(op):
        return False
    return is_out(op) or is_inplace(op) or (op.schema.is_mutable and not op.schema.returns)


def get_layout_constraint_tag(fn: Any, *, with_default: bool = True) -> Any:
    """Return the strictest tag for strides of an operator, ``needs_exact_strides`` where it has none."""
    from ..tags import Tag

    found = next((tag for tag in _LAYOUT_TAGS if tag in fn.tags), None)
    if found is None and with_default:
        found = _LAYOUT_TAGS[0]
    return None if found is None else Tag(found)
