"""Kernels generated from rows of the table: the text of a function for each operator, generated at its first call.

A kernel looks up the template of a call by the descriptions of its arguments (Note [Rules are cached] of the shape
rules), allocates the results and launches the function:

    def kernel(self, other, *, alpha):
        try:
            template = templates[settings[0], self.spec, self.storage_offset, other.spec, other.storage_offset, type(alpha)]
        except (AttributeError, KeyError, TypeError):
            template, (self, other, alpha) = prepare(self, other, alpha)
        out = new(AclArray)
        out.block, out.spec, out.storage_offset = allocate(template.size), template.spec, 0
        template.launch((self, other, out), (alpha,))
        return out
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, Final

from dispatch_aten import dtypes
from dispatch_aten.operators import ATEN
from dispatch_aten.shapes import TensorMeta, cached_rule, check_output_shape, check_written, rule_key
from dispatch_core import FunctionSchema

from .. import arrays
from ..runtime import allocator
from .calls import CallTemplate, ScalarParameter, store, template_cache
from .checks import check_overlap, described
from .table import OPERATORS, PROTOTYPES

__all__ = ["Code", "code_of"]

#: What expressions of the table use besides the overload's arguments and its results.
_NAMES: Final = {
    "APPROXIMATE": {"none": 0, "tanh": 1},
    "ROUNDING": {None: 0, "trunc": 1, "floor": 2},
    "bool": bool,
    "like": lambda number, array: int(number) if array.dtype.is_integral else number,
    "dims": lambda dim: () if dim is None else dim,
}

ON_EXPANDED: Final = {
    "fill_.Scalar": "fill.Scalar",
    "zero_": "alias",
}
"""Operators that may write to expanded tensors, and whose rule makes their other checks."""


@cache
def _schemas() -> dict[str, str]:
    return {operator.name: operator.schema for operator in ATEN}


@cache
def code_of(name: str) -> Code:
    """Give what is known about an overload that has a row."""
    return Code(name)


class Code:
    """A row, read for what code needs to know; the text of its kernel, and the names that the text uses."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.function, self.expressions = OPERATORS[name]
        self.schema = FunctionSchema.parse(_schemas()[name])
        self.arguments = [_identifier(argument.name) for argument in self.schema.arguments]
        self.kinds = {_identifier(argument.name): _plain(argument.type) for argument in self.schema.arguments}
        self.written = next((_identifier(each.name) for each in self.schema.arguments if each.is_write), None)
        self.outs = () if self.written else ("out",) if len(self.schema.returns) == 1 else ("out0", "out1")
        #: Scalars that each call gives anew.
        kinds = PROTOTYPES[self.function]
        self.numbers = [
            expression
            for kind, expression in zip(kinds, self.expressions, strict=True)
            if kind == "const aclScalar*" and self.kinds.get(expression) == "Scalar"
        ]
        #: Tensors in the order of the function's arguments, as the kernel spells them.
        self.tensors = [
            f"*{expression}" if "List" in kind else expression
            for kind, expression in zip(kinds, self.expressions, strict=True)
            if "aclTensor" in kind
        ]
        self.rule = cached_rule(ON_EXPANDED.get(name, name))
        self.templates = template_cache()
        self.values = [eval(f"lambda {self.scope}: {each}", dict(_NAMES)) for each in self.expressions]  # noqa: S307

    @property
    def scope(self) -> str:
        """Return the names that an expression of the row may use."""
        return ", ".join((*self.arguments, *self.outs))

    @property
    def key(self) -> str:
        """Return the text of what a template is kept under."""
        others = [name for name in self.arguments if name not in self.numbers]
        return rule_key(self.name).text(self.arguments, "{0}.spec, {0}.storage_offset", by_value=others)

    @property
    def text(self) -> str:
        """Return the text of the module that defines the kernel."""
        signature: list[str] = []
        for argument, name in zip(self.schema.arguments, self.arguments, strict=True):
            if argument.kwarg_only and "*" not in signature:
                signature.append("*")
            signature.append(f"{name}=__default_{argument.name}" if argument.has_default else name)
        given = ", ".join(self.arguments)
        lines = [
            f"def __key({given}):",
            f"    return ({self.key},)",
            f"def __kernel({', '.join(signature)}):",
            "    try:",
            f"        __template = __templates[{self.key}]",
            "    except (AttributeError, KeyError, TypeError):",
            f"        __template, ({given},) = __prepare({given})",
        ]
        for number, out in enumerate(self.outs):
            size, spec = ("size", "spec") if len(self.outs) == 1 else (f"sizes[{number}]", f"specs[{number}]")
            lines += [
                f"    {out} = __new(__array)",
                f"    {out}.block, {out}.spec, {out}.storage_offset = __allocate(__template.{size}), __template.{spec}, 0",
            ]
        if self.written:
            for name in self.arguments:
                if self.kinds[name] == "Tensor" and name != self.written:
                    lines.append(
                        f"    if {name}.block is {self.written}.block: __check_overlap({self.written}, {name})"
                    )
        numbers = f", ({', '.join(self.numbers)},)" if self.numbers else ""
        lines.append(f"    __template.launch(({', '.join(self.tensors)},){numbers})")
        lines.append(f"    return {self.written or ', '.join(self.outs)}")
        return "\n".join(lines)

    @property
    def names(self) -> dict[str, Any]:
        """Return what the text uses."""
        defaults = {f"__default_{each.name}": each.value for each in self.schema.arguments if each.has_default}
        return defaults | {
            "__settings": dtypes._default,
            "__templates": self.templates,
            "__prepare": self._prepare,
            "__new": object.__new__,
            "__array": arrays.AclArray,
            "__allocate": allocator.allocate,
            "__check_overlap": check_overlap,
        }

    def _prepare(self, *given: Any) -> tuple[CallTemplate, Sequence[Any]]:
        """Make the template for a call with such arguments, and store it; give the arguments as arrays of this device."""
        given = tuple([described(value) for value in given])
        positional, keywords = [], {}
        for argument, value in zip(self.schema.arguments, given, strict=True):
            if argument.kwarg_only:
                keywords[_identifier(argument.name)] = value
            else:
                positional.append(value)
        found = self.rule(*positional, **keywords)
        specs: tuple[TensorMeta, ...] = ()
        if self.written:
            written = given[self.arguments.index(self.written)]
            if self.name not in ON_EXPANDED:
                check_written(written.spec)
            else:
                check_output_shape(found.shape, written.shape)
        else:
            specs = found if isinstance(found, tuple) else (found,)
        values = [value(*given, *specs) for value in self.values]
        for place, name in enumerate(self.numbers):
            index = self.expressions.index(name)
            values[index] = ScalarParameter(place, values[index])
        template = CallTemplate(self.function, values, specs)
        with suppress(TypeError):  # What cannot be hashed is not kept.
            store(self.templates, self._key(*given), template)
        return template, given

    @property
    def _key(self) -> Callable[..., Any]:
        names: dict[str, Any] = {"__settings": dtypes._default}
        exec(f"def __key({', '.join(self.arguments)}): return ({self.key},)", names)  # noqa: S102  # as above
        found: Callable[..., Any] = names["__key"]
        return found


def _identifier(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def _plain(kind: Any) -> str:
    """Spell a schema's type without aliases and sizes: ``int[1]?`` and ``SymInt[]?`` are both lists of integers."""
    return re.sub(r"\([^)]*\)|\d", "", str(kind)).replace("SymInt", "int")
