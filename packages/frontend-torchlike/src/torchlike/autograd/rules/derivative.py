"""The derivative of one overload: its formulas, and the tensors, numbers and results that generated code saves for them.

The formulas themselves are data of the operator library; `dispatch_aten.derivatives` lists the names that they may use.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final

import numpy as np

import dispatch_core as dc
from dispatch_aten.derivatives import METADATA_SUFFIXES
from dispatch_aten.gradients import functions_for
from dispatch_core import frontends
from dispatch_core.calls import parse_expression

from ...functions.operator_functions import QUICK


def _is_turned(tensor: Any) -> bool:
    data = tensor._dispatch_data
    if type(data) is np.ndarray:
        shape, item = data.shape, data.itemsize
        return len(shape) == 2 and data.strides == (item, item * shape[0])
    shape = dc.shape(tensor)
    return len(shape) == 2 and dc.strides(tensor) == (1, shape[0])


#: The properties of a tensor that formulas use beside its elements, by the suffix of the name.
_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "_sizes": lambda tensor: tensor._shape_and_dtype()[0],
    "_strides": dc.strides,
    "_storage_offset": frontends.read_offset,
    "_dim": lambda tensor: len(dc.shape(tensor)),
    "_numel": lambda tensor: math.prod(dc.shape(tensor)),
    "_dtype": dc.dtype,
    "_device": dc.device,
    "_is_turned": _is_turned,
}
assert set(_READERS) == set(METADATA_SUFFIXES)
#: The operators whose number torch saves as a tensor, which a backward frees as any other.
_SAVE_A_NUMBER: Final = frozenset(
    {"mul.Scalar", "mul_.Scalar", "div.Scalar", "div_.Scalar", "div.Scalar_mode", "div_.Scalar_mode"}
)


class _CallRenamer(ast.NodeTransformer):
    """Rename called functions, so that an argument of the same name does not hide one."""

    def __init__(self) -> None:
        self.called: set[str] = set()

    def visit_Call(self, node: ast.Call) -> ast.AST:  # the ast module's name
        self.generic_visit(node)
        if isinstance(node.func, ast.Name):
            self.called.add(node.func.id)
            node.func = ast.Name(id=f"f_{node.func.id}", ctx=ast.Load())
        return node


class Derivative:
    """Everything that the generated code of one overload depends on.

    ``gradients`` maps each differentiable argument to its formula; ``op`` may be the in-place variant of the operator that
    the formulas belong to. ``number`` ends the node's name.
    """

    def __init__(
        self,
        op: Any,
        gradients: Mapping[str, str],
        *,
        differentiable_results: tuple[bool, ...] | None = None,
        refused: tuple[str, ...] = (),
        number: int = 0,
    ) -> None:
        schema = op.schema
        self.op = op
        self.number = number
        self.differentiable_results = differentiable_results
        #: Tensors without a formula, which may not require grad.
        self.refused = refused
        #: Whether the backend's arrays have ``shape`` and ``dtype`` attributes.
        self.plain_arrays = False
        self.arguments = [argument.name for argument in schema.arguments]
        self.kinds = {tensor.argument.name: tensor.kind for tensor in schema.tensor_arguments}
        self.list_inputs = {name for name, kind in self.kinds.items() if kind in ("list", "optional_list")}
        self.optional_inputs = {name for name, kind in self.kinds.items() if kind == "optional"}
        self.inplace = schema.arguments[0].is_write
        #: Whether the tensor becomes another view of its memory.
        self.inplace_view = "inplace_view" in op.tags
        self.view = any(each.alias is not None and not each.is_write for each in schema.returns)
        returns_list = str(schema.returns[0].type).endswith("[]")
        #: The number of results; 0 where a call decides it.
        self.outputs = 0 if returns_list else len(schema.returns)
        #: Whether a call may leave results out.
        self.leaves_out = any(each.output_mask >= 0 for each in frontends.call_signature(op).results)
        self.results = ["result"] if self.outputs < 2 else [f"result{number}" for number in range(self.outputs)]
        if self.inplace and next(iter(gradients), None) != "self":
            # An in-place operator's node always begins with the tensor that was written to.
            gradients = {"self": gradients.get("self", "None"), **gradients}
        calls = _CallRenamer()
        self._trees = {name: calls.visit(parse_expression(text)) for name, text in gradients.items()}
        self.called = calls.called
        self.gradients = {name: ast.unparse(tree) for name, tree in self._trees.items()}

    def _find_names(self, name: str) -> set[str]:
        return {node.id for node in ast.walk(self._trees[name]) if isinstance(node, ast.Name)}

    @cached_property
    def names(self) -> set[str]:
        """Every name that a formula mentions, those of functions left out."""
        return set[str]().union(*(self._find_names(name) for name in self.gradients))

    @cached_property
    def saved_inputs(self) -> list[str]:
        """The tensor arguments whose elements a formula uses."""
        return [name for name in self.arguments if name in self.kinds and name in self.names]

    @cached_property
    def saved_results(self) -> list[str]:
        """The results that a formula uses."""
        return [name for name in self.results if name in self.names and name not in self.arguments]

    @property
    def saved_names(self) -> list[str]:
        """The names of the saved arguments, and of the saved results: those that the schema has for them."""
        names = {own: each.name or own for own, each in zip(self.results, self.op.schema.returns, strict=False)}
        return [*self.saved_inputs, *[names[name] for name in self.saved_results]]

    @cached_property
    def metadata(self) -> dict[str, tuple[str, str]]:
        """The names that represent a property of a tensor, each with the tensor and the suffix."""
        found = {}
        for name in sorted(self.names - set(self.arguments)):
            for suffix in _READERS:
                tensor = name.removesuffix(suffix)
                if tensor != name and (tensor in self.kinds or tensor in self.results):
                    found[name] = (tensor, suffix)
        return found

    @cached_property
    def values(self) -> list[str]:
        """The numbers, shapes and other arguments without elements that a formula uses."""
        plain = [name for name in self.arguments if name not in self.kinds and name in self.names]
        return [*plain, *self.metadata]

    @cached_property
    def default_values(self) -> dict[str, Any]:
        """The defaults of all of `values`; none where one of them has no default."""
        found = {each.name: each.default for each in self.op.schema.arguments if each.has_default}
        return {name: found[name] for name in self.values} if found.keys() >= set(self.values) else {}

    @property
    def frees_values(self) -> bool:
        """Whether a second backward fails, as torch's does, though nothing but a number was saved."""
        return self.op.name.partition("::")[2] in _SAVE_A_NUMBER

    def reading(self, name: str) -> str:
        """Return the source of a property of a tensor, as it stands in the kernel."""
        tensor, suffix = self.metadata[name]
        if tensor in self.list_inputs:
            return f"[_read{suffix}(_t) for _t in {tensor}]"
        if tensor in self.results:
            tensor = "_r" if self.outputs == 1 else f"_r[{self.results.index(tensor)}]"
        is_plain = self.plain_arrays and suffix == "_sizes"
        read = f"{tensor}._dispatch_data.shape" if is_plain else f"_read{suffix}({tensor})"
        return f"None if {tensor} is None else {read}" if tensor in self.optional_inputs else read

    def is_early(self, name: str) -> bool:
        """Return whether a property is read before the operator runs: one of an argument, which it may change."""
        return self.metadata[name][0] in self.kinds

    @cached_property
    def has_factors(self) -> bool:
        """Whether gradients are multiplied by more than real constants, so that complex ones are conjugated."""
        kinds = {argument.name: str(argument.type) for argument in self.op.schema.arguments}
        numbers = any("Scalar" in kinds.get(name, "") and "Type" not in kinds[name] for name in self.values)
        return bool(self.saved_inputs or self.saved_results or numbers)

    def users(self, name: str) -> list[str]:
        """Return the inputs whose gradients use a tensor."""
        return [wanted for wanted in self.gradients if name in self._find_names(wanted)]

    @property
    def helpers(self) -> dict[str, Any]:
        """The functions that the kernel's source calls to read properties."""
        return {f"_read{suffix}": read for suffix, read in _READERS.items()}

    @property
    def namespace(self) -> dict[str, Any]:
        """The functions that the formulas call: the library's own, and operators by name."""
        functions = functions_for(self.op.name)
        return {f"f_{name}": functions.get(name) or QUICK.get(name) or _find_operator(name) for name in self.called}

    @property
    def result_may_be_integral(self) -> bool:
        """Whether an argument chooses the result's dtype."""
        return (
            self.outputs == 1
            and not self.inplace
            and any("ScalarType" in str(argument.type) for argument in self.op.schema.arguments)
        )

    @property
    def parameters(self) -> str:
        """All arguments in the schema's order, as a signature or a call spells them."""
        return list_parameters(self.op.schema)


def _find_operator(name: str) -> Callable[..., Any]:
    """Return the one overload of an operator that computes something new, or all of its overloads where several do."""
    packet = getattr(dc.ops.aten, name)
    overloads = [getattr(packet, each) for each in packet.overloads()]
    functional = [each for each in overloads if not each.schema.is_mutable]
    return functional[0] if len(functional) == 1 else packet


def list_parameters(schema: Any) -> str:
    """Return all arguments in order, as a signature or a call spells them: ``from`` is a Python keyword."""
    return ", ".join("from_" if argument.name == "from" else argument.name for argument in schema.arguments)
