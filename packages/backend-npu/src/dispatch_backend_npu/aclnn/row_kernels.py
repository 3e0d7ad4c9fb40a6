"""Kernels generated from rows of the table: the source of a function for each operator, written at its first call.

A kernel looks up the template of a call by the descriptions of its arguments (Note [Rules are cached] of the shape rules),
allocates the results and launches the function:

    def kernel(self, other, *, alpha):
        try:
            template = templates[
                settings.dtype,
                self.spec, self.storage_offset, self.block.nbytes,
                other.spec, other.storage_offset, other.block.nbytes, type(alpha)
            ]
        except (AttributeError, KeyError, TypeError):
            template, (self, other, alpha) = prepare(self, other, alpha)
        out = new(AclArray)
        out.block, out.spec, out.storage_offset = allocate(template.size), template.spec, 0
        template.launch([self, other, out], (alpha,))
        return out

Where the function does not take the arguments, ``prepare`` returns no template, and the kernel calls the operator's
composite kernel, or that of the host.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from math import prod
from typing import Any, Final

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.shapes import RULES_ON_EXPANDED, TensorMeta, cached_rule, check_output_shape, check_written, rule_key
from dispatch_core.calls import define, make_function

from .. import arrays
from ..runtime import allocator, device
from ..runtime.chips import KEEP_DTYPE
from . import conditions
from .calls import CallTemplate, NotTakenError, ScalarParameter
from .checks import check_overlap, to_device
from .composition import compose
from .pools import clear_at_close
from .table import CONDITIONS, OPERATORS, PROTOTYPES

#: Names that expressions of the table use besides the overload's arguments and its results.
_NAMES: Final = {
    "APPROXIMATE": {"none": 0, "tanh": 1},
    "ROUNDING": {None: 0, "trunc": 1, "floor": 2},
    "PRECISION": {ScalarType.Float: 1},
    "REDUCTIONS": {"sum": 1, "prod": 2},
    "QR_MODES": {"reduced": 0, "complete": 1, "r": 2},
    "all": all,
    "any": any,
    "bool": bool,
    "cube": lambda dtype: device.chip().cube_math_type if dtype is ScalarType.Float else KEEP_DTYPE,
    "bound": lambda number, array, sign: sign * _largest(array.dtype) if number is None else number,
    "family": lambda: device.chip().family,
    "like": lambda number, array: int(number) if array.dtype.is_integral else number,
    "is_factor": conditions.is_factor,
    "is_filled": conditions.is_filled,
    "is_linear_gradient": conditions.is_linear_gradient,
    "is_sampled": conditions.is_sampled,
    "is_scale": conditions.is_scale,
    "is_shift": conditions.is_shift,
    "is_shrink_within": conditions.is_shrink_within,
    "is_small_convolution": conditions.is_small_convolution,
    "min": min,
    "prod": prod,
    "set": set,
    "spread": conditions.spread,
    "dims": lambda dim: () if dim is None else dim,
}


def _largest(dtype: ScalarType) -> float:
    """Return the largest finite number of a floating dtype of at most 32 bits."""
    return {ScalarType.Half: 65504.0, ScalarType.BFloat16: 3.3895313892515355e38}.get(dtype, 3.4028234663852886e38)


@cache
def operator_row(name: str) -> OperatorRow:
    """Return the parsed row of an overload."""
    return OperatorRow(name)


class OperatorRow:
    """A parsed row, and the source of its kernel."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.function, self.expressions = OPERATORS[name]
        self._rule, self._key = cached_rule(RULES_ON_EXPANDED.get(name, name)), rule_key(name)
        schema, self.arguments = self._key.schema, self._key.names
        kinds = {each: str(argument.type) for each, argument in zip(self.arguments, schema.arguments, strict=True)}
        self._keyword_only = [
            each for each, argument in zip(self.arguments, schema.arguments, strict=True) if argument.kwarg_only
        ]
        self.written = next(
            (each for each, argument in zip(self.arguments, schema.arguments, strict=True) if argument.is_write), None
        )
        #: Tensors that are compared with the one that is written to.
        self._read = [each for each, kind in kinds.items() if kind == "Tensor" and each != self.written]
        count = len(schema.returns)
        self.outs = () if self.written else ("out",) if count == 1 else tuple([f"out{index}" for index in range(count)])
        if "output_mask" in self.arguments:
            # A result that is not asked for has no elements, and the function gets no tensor for it.
            masked = {out: f"{out} if output_mask[{index}] else None" for index, out in enumerate(self.outs)}
            self.expressions = tuple([masked.get(each, each) for each in self.expressions])
        c_types = list(zip(PROTOTYPES[self.function], self.expressions, strict=True))
        #: Scalars that each call brings.
        self.numbers = [
            each for c_type, each in c_types if c_type == "const aclScalar*" and kinds.get(each) == "Scalar"
        ]
        #: Numbers that each run of a plan may bring.
        self.late = {*self.numbers} | {
            each for c_type, each in c_types if c_type in ("double", "float") and kinds.get(each) == "float"
        }
        #: Tensors in the order of the function's arguments, as the kernel spells them.
        self.tensors = [f"*{each}" if "List" in c_type else each for c_type, each in c_types if "aclTensor" in c_type]
        listed = f"[{', '.join(self.tensors)}]"
        if "Tensor?" in kinds.values() or "None" in listed:
            listed = f"[__each for __each in {listed} if __each is not None]"
        #: The source of a list of these, without those that are None.
        self._listed = listed
        #: Return that list for the overload's arguments and its results.
        self.list_tensors: Callable[..., list[Any]] = make_function(
            define(f"tensors({', '.join((*self.arguments, *self.outs))})", [f"return {listed}"]),
            f"tensors of aten::{name}",
            {},
        )
        by_value = [each for each in self.arguments if each not in self.numbers]
        self._key_text = self._key.text(
            self.arguments, "{0}.spec, {0}.storage_offset, {0}.block.nbytes", by_value=by_value
        )
        self._make_key = make_function(
            define(f"key({', '.join(self.arguments)})", [f"return ({self._key_text},)"]),
            f"key of aten::{name}",
            {"__settings": self._key.settings},
        )
        #: Return the function's arguments for the overload's arguments and the descriptions of its results.
        self.evaluate: Callable[..., tuple[Any, ...]] = make_function(
            define(f"row({', '.join((*self.arguments, *self.outs))})", [f"return ({', '.join(self.expressions)},)"]),
            f"row of aten::{name}",
            dict(_NAMES),
        )
        #: Return whether the function takes the overload's arguments; None where it takes all, but for scalar types.
        self.is_taken: Callable[..., bool] | None = None
        if name in CONDITIONS:
            self.is_taken = make_function(
                define(f"takes({', '.join(self.arguments)})", [f"return {CONDITIONS[name]}"]),
                f"condition of aten::{name}",
                dict(_NAMES),
            )
        self._templates, self._learn = self._key.cache(self._make_template)
        clear_at_close(self._templates)

    @property
    def source(self) -> str:
        """The source of the kernel."""
        given = ", ".join(self.arguments)
        lines = [
            "try:",
            f"    __template = __templates[{self._key_text}]",
            "except (AttributeError, KeyError, TypeError):",
            f"    __template, ({given},) = __prepare({given})",
        ]
        call = ", ".join([f"{each}={each}" if each in self._keyword_only else each for each in self.arguments])
        lines.append(f"    if __template is None: return __compose({call})")
        for number, out in enumerate(self.outs):
            size, spec = ("size", "spec") if len(self.outs) == 1 else (f"sizes[{number}]", f"specs[{number}]")
            lines += [
                f"{out} = __new(__array)",
                f"{out}.block, {out}.spec, {out}.storage_offset = __allocate(__template.{size}), __template.{spec}, 0",
            ]
        if self.written:
            lines += [
                f"if {each}.block is {self.written}.block: __check_overlap({self.written}, {each})"
                for each in self._read
            ]
        numbers = f", ({', '.join(self.numbers)},)" if self.numbers else ""
        lines.append(f"__template.launch({self._listed}{numbers})")
        lines.append(f"return {self.written or ', '.join(self.outs)}")
        return define(f"kernel({self._key.signature})", lines)

    def make_kernel(self) -> Callable[..., Any]:
        """Return the kernel."""
        names = self._key.defaults | {
            "__settings": self._key.settings,
            "__templates": self._templates,
            "__prepare": self._prepare,
            "__new": object.__new__,
            "__array": arrays.AclArray,
            "__allocate": allocator.allocate,
            "__check_overlap": check_overlap,
            "__compose": partial(compose, self.name),
        }
        kernel: Callable[..., Any] = make_function(self.source, f"npu kernel of aten::{self.name}", names)
        return kernel

    def _prepare(self, *arguments: Any) -> tuple[CallTemplate | None, Sequence[Any]]:
        """Return a template for a call, which is kept, and the arguments as arrays of this device."""
        arguments = tuple(map(to_device, arguments))
        if self.is_taken is not None and not self.is_taken(*arguments):
            return None, arguments
        try:
            key = self._make_key(*arguments)
        except TypeError:
            key = None
        positional = len(arguments) - len(self._keyword_only)
        keywords = dict(zip(self._keyword_only, arguments[positional:], strict=True))
        try:
            return self._learn(key, *arguments[:positional], **keywords), arguments
        except NotTakenError:
            return None, arguments

    def _make_template(self, *args: Any, **kwargs: Any) -> CallTemplate:
        found = self._rule(*args, **kwargs)
        arguments = (*args, *kwargs.values())
        specs: tuple[TensorMeta, ...] = ()
        if self.written:
            written = arguments[self.arguments.index(self.written)]
            if self.name not in RULES_ON_EXPANDED:
                check_written(written.spec)
            else:
                check_output_shape(found.shape, written.shape)
        else:
            specs = found if isinstance(found, tuple) else (found,)
        values = list(self.evaluate(*arguments, *specs))
        for number, name in enumerate(self.numbers):
            index = self.expressions.index(name)
            values[index] = ScalarParameter(number, values[index])
        return CallTemplate(self.function, values, specs)
