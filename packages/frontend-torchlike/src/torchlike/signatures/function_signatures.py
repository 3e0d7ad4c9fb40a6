r"""The signatures of torchlike's functions as users see them, made of the operators' schemas.

torch's names for the arguments stand in them, with torchlike's additions to a schema: ``out`` beside the arguments of the
overload that it belongs to, sizes one by one, ``requires_grad`` of factories, named results. Overloads that differ
in the type of an argument alone become one. ``inspect.signature`` shows the most general of the rest, `signatures` all.

>>> import inspect, torchlike
>>> inspect.signature(torchlike.cumsum)
<LazySignature (input: Tensor, dim: int, *, dtype: dtype | None = None, out: Tensor | None = None) -> Tensor>
>>> print(*signatures(torchlike.max), sep="\n")
(input: Tensor, dim: int, keepdim: bool = False, *, out: Sequence[Tensor] | None = None) -> return_types.max
(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor
(input: Tensor, *, out: Tensor | None = None) -> Tensor
"""

from __future__ import annotations
import __future__

import inspect
from collections.abc import Callable, Mapping
from inspect import Parameter, Signature
from typing import Any, Final

from dispatch_core.schema import FunctionSchema
from dispatch_core.signatures import Spelled, rank, signatures, to_signature

from ..names import operator_table as table
from ..values.dtypes import memory_format
from . import written_signatures as written
from .joined_signatures import join
from .overload_choice import BINARY

__all__ = [
    "MAKERS",
    "factory_signatures",
    "function_signatures",
    "method_signatures",
    "read_signature",
    "signatures",
]

_OUT: Final = Parameter("out", Parameter.KEYWORD_ONLY, default=None, annotation=Spelled("Tensor | None"))
_OUTS: Final = _OUT.replace(annotation=Spelled("Sequence[Tensor] | None"))
_REQUIRES_GRAD: Final = Parameter("requires_grad", Parameter.KEYWORD_ONLY, default=False, annotation=Spelled("bool"))
_CHUNKS: Final = Parameter("chunks", Parameter.KEYWORD_ONLY, default=None, annotation=Spelled("Any"))
_SELF: Final = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
#: Functions that take a number for the first tensor.
_OF_NUMBERS: Final = frozenset(
    "add bitwise_and bitwise_or bitwise_xor div divide floor_divide mul multiply sub subtract true_divide".split()
)


def read_signature(text: str) -> Signature:
    """Return the signature that stands behind ``def name``, with its annotations as text.

    >>> read_signature("(input: Tensor, *, dim: int = 0) -> Tensor")
    <Signature (input: Tensor, *, dim: int = 0) -> Tensor>
    """
    made: dict[str, Any] = {}
    flags = __future__.annotations.compiler_flag
    code = compile(f"def function{text}: ...", "<signature>", "exec", flags, dont_inherit=True)
    exec(code, made)  # noqa: S102  # a text of this package
    found = inspect.signature(made["function"])
    parameters = [
        each if each.annotation is Parameter.empty else each.replace(annotation=Spelled(each.annotation))
        for each in found.parameters.values()
    ]
    return Signature(parameters, return_annotation=Spelled(found.return_annotation))


def function_signatures(name: str) -> list[Signature]:
    """Return the signatures of the function of an operator: ``add``, ``linalg_det``."""
    if name in written.FUNCTIONS:
        return [read_signature(each) for each in written.FUNCTIONS[name]]
    forms = _read_forms(table.OPERATORS[name])
    if name in _OF_NUMBERS:
        forms = join([_change(form, "input", annotation=Spelled("Tensor | Number")) for form in forms])
    return sorted(forms, key=rank)


def method_signatures(name: str) -> list[Signature]:
    """Return the signatures of a method of tensors, with ``self`` in place of the first tensor, and without ``out``."""
    if name in written.METHODS:
        return [read_signature(each) for each in written.METHODS[name]]
    is_written = name in written.FUNCTIONS
    forms = function_signatures(name) if is_written else _read_forms(table.OPERATORS[name])
    made = []
    for form in forms:
        _, *rest = form.parameters.values()
        if all(each.name != "out" or each.default is not Parameter.empty for each in rest):
            made.append(form.replace(parameters=[_SELF, *(each for each in rest if each.name != "out")]))
    return made if is_written else sorted(join(made), key=rank)


def factory_signatures(name: str) -> list[Signature]:
    """Return the signatures of a function that makes tensors of sizes and numbers."""
    if name in written.FACTORIES:
        return [read_signature(each) for each in written.FACTORIES[name]]
    schemas = [FunctionSchema.parse(each) for each in table.OPERATORS[name].schemas]
    with_out = [[each.name for each in schema.positional] for schema in schemas if _outputs(schema)]
    forms = []
    for schema in schemas:
        if not _outputs(schema):
            out = [_OUT] if [each.name for each in schema.positional] in with_out else []
            forms.append(_add(to_signature(schema), *out, _REQUIRES_GRAD, _CHUNKS))
    forms = join(forms)
    stars = [_star(form, 0) for form in forms] if name in table.SIZED_FACTORIES else []
    return sorted([*forms, *stars], key=rank)


MAKERS: Final[Mapping[str, Callable[[str], list[Signature]]]] = {
    "function": function_signatures,
    "method": method_signatures,
    "factory": factory_signatures,
}


def _read_forms(operator: table.OverloadGroup) -> list[Signature]:
    """Return the signatures of an operator's function, before numbers may represent its first tensor."""
    schemas = [FunctionSchema.parse(each) for each in operator.schemas]
    with_out = {_inputs(schema): schema for schema in schemas if _outputs(schema)}
    forms = []
    for schema in schemas:
        if not _outputs(schema):
            written_to = with_out.pop(_inputs(schema), None)
            more = [] if written_to is None else [_OUT if len(_outputs(written_to)) == 1 else _OUTS]
            forms.append(_add(to_signature(schema), *more, *([_REQUIRES_GRAD] if operator.is_like else [])))
    for schema in with_out.values():
        outputs, form = _outputs(schema), to_signature(schema)
        taken = Spelled("Tensor" if len(outputs) == 1 else "Sequence[Tensor]")
        out = _OUT.replace(default=Parameter.empty, annotation=taken)
        kept = [each for each in form.parameters.values() if each.name not in outputs]
        forms.append(form.replace(parameters=[*kept, out]))
    if operator.name in BINARY:
        forms = [_by_keyword(form, 2) for form in forms]
    forms = [_name_result(_name_format(_change(form, "self", name="input")), operator) for form in forms]
    forms = join(forms)
    stars = [_star(form, 1) for form in forms if _takes_sizes(form)] if operator.name in table.WITH_SIZES else []
    return [*forms, *stars]


def _outputs(schema: FunctionSchema) -> list[str]:
    return [each.name for each in schema.keyword_only if each.is_write]


def _inputs(schema: FunctionSchema) -> tuple[tuple[str, str], ...]:
    """Return the argument types by which an `out` overload finds its functional overload."""
    outputs = _outputs(schema)
    named = ((each.name, str(each.type).replace("SymInt", "int")) for each in schema.arguments)
    return tuple((name, type) for name, type in named if name not in outputs)


def _name_result(form: Signature, operator: table.OverloadGroup) -> Signature:
    """Return a signature with torch's class of an operator's results; a list of tensors is a tuple for users."""
    result = form.return_annotation
    if operator.names is not None and result.startswith("tuple["):
        result = f"return_types.{operator.name}"
    elif result == "list[Tensor]":
        result = "tuple[Tensor, ...]"
    return form.replace(return_annotation=Spelled(result))


def _name_format(form: Signature) -> Signature:
    """Return a signature whose default of ``memory_format`` is one, where the schema has its number."""
    default = getattr(form.parameters.get("memory_format"), "default", None)
    return _change(form, "memory_format", default=memory_format(default)) if type(default) is int else form


def _add(form: Signature, *more: Parameter) -> Signature:
    return form.replace(parameters=[*form.parameters.values(), *more])


def _change(form: Signature, parameter: str, **changes: Any) -> Signature:
    """Return a signature with one parameter changed, or as it is where it has none of the name."""
    listed = form.parameters
    if parameter not in listed or changes.get("name") in listed:
        return form
    changed = [each.replace(**changes) if each.name == parameter else each for each in listed.values()]
    return form.replace(parameters=changed)


def _by_keyword(form: Signature, count: int) -> Signature:
    """Return a signature whose parameters behind the first ``count`` are given by keyword only."""
    listed = [*form.parameters.values()]
    rest = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in listed[count:]]
    return form.replace(parameters=[*listed[:count], *rest])


def _takes_sizes(form: Signature) -> bool:
    listed = [*form.parameters.values()]
    return len(listed) > 1 and "Sequence[int]" in listed[1].annotation


def _star(form: Signature, place: int) -> Signature:
    """Return a signature whose sizes, at ``place``, are written one by one; later ones are given by keyword."""
    listed = [*form.parameters.values()]
    first, rest = listed[:place], listed[place + 1 :]
    star = listed[place].replace(kind=Parameter.VAR_POSITIONAL, annotation=Spelled("int"), default=Parameter.empty)
    # fmt: off
    return form.replace(parameters=[
        *(each.replace(kind=Parameter.POSITIONAL_ONLY) for each in first),
        star,
        *(each.replace(kind=Parameter.KEYWORD_ONLY) for each in rest),
    ])
    # fmt: on
