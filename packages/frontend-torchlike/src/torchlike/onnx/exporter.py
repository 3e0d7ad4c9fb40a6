"""The export of a model: traces of its calls, whose operators are written as nodes.

Note [What is the same for all inputs]
    A call whose arguments are the same in all traces, and are no inputs, parameters or results of such, is made when the
    model is exported: masks, positions and tables become constants. Parameters and buffers are never computed with, so that
    they keep their names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import dispatch_core as dc
from dispatch_core.planning import Constant, Value

from ..nn import Module
from ..tensors.tensor import Tensor
from ..version import __version__
from . import arrangements, elementwise, layers, reductions  # noqa: F401  # they fill the table
from .emitters import EMITTERS, MOST_BYTES, OPSET
from .errors import OnnxExporterError, UnsupportedOperatorError
from .inputs import ExportedCall, flatten
from .sizes import DynamicSize, find_size
from .writer import Writer, type_of

__all__ = ["write_model"]

#: The steps that are only another tensor around the same array.
_WRAPS: Final = ("wrap", "unwrap")
_FROM_NUMBERS: Final = "a tensor made of Python's or NumPy's numbers depends on a dynamic dimension; use arange or full"


def write_model(
    model: Any,
    args: Any,
    kwargs: Mapping[str, Any],
    input_names: Sequence[str] | None,
    output_names: Sequence[str] | None,
    dynamic_axes: Mapping[str, Any],
    dynamic_shapes: Any,
) -> Any:
    """Return the message of a model; see `program.export`."""
    call = ExportedCall(model, args, kwargs, input_names)
    dynamic = call.dynamic(dynamic_axes, dynamic_shapes)
    with _evaluating(model):
        return _write(call, dynamic, output_names)


@contextmanager
def _evaluating(model: Any) -> Iterator[None]:
    modules = [each for each in model.modules() if each.training] if isinstance(model, Module) else []
    for each in modules:
        each.training = False
    try:
        yield
    finally:
        for each in modules:
            each.training = True


class _Traced:
    """One trace of the call: its graph, the values of its inputs, and the arrays that it has found elsewhere."""

    def __init__(self, call: ExportedCall, bound: Any, tensors: list[Tensor]) -> None:
        import torchlike

        with torchlike.no_grad(), dc.trace(functional=True) as trace:
            returned = call.model(*bound.args, **bound.kwargs)
            self.outputs = [(name, each) for name, each in flatten({"output": returned}) if isinstance(each, Tensor)]
            if not self.outputs:
                raise OnnxExporterError(f"the model returns no tensor, but {type(returned).__qualname__}")
            # A result may be an argument or a parameter itself.
            trace.returns(*(each.clone() for _, each in self.outputs))
            given = trace.given_arrays()
        self.graph = trace.graph
        places = {id(array): index for index, array in given.items()}
        self.inputs = [places.get(id(each._dispatch_data)) for each in tensors]
        self.given = given
        named = _named_tensors(call.model)
        self.parameters = {
            places[id(each._dispatch_data)]: name for name, each in named if id(each._dispatch_data) in places
        }
        self.tensors = dict(named)


def _named_tensors(model: Any) -> list[tuple[str, Tensor]]:
    """Return a model's parameters and buffers by name, the shared ones once."""
    if not isinstance(model, Module):
        return []
    return [*model.named_parameters(), *model.named_buffers()]


def _write(call: ExportedCall, dynamic: dict[str, dict[int, str]], output_names: Sequence[str] | None) -> Any:
    """Trace the call and return the message of the model."""
    sizes = _choose_sizes(call, dynamic)
    traces = []
    for number in range(3 if sizes else 1):
        bound, tensors = call.with_sizes(dynamic, {name: each[number] for name, each in sizes.items()})
        traces.append(_Traced(call, bound, tensors))
    _compare(traces)
    return _Export(call, dynamic, sizes, traces, output_names).write()


def _choose_sizes(call: ExportedCall, dynamic: Mapping[str, Mapping[int, str]]) -> dict[str, list[int]]:
    """Return three sizes of each dynamic dimension, in other proportions for each, and never one."""
    found: dict[str, list[int]] = {}
    for name, dims in dynamic.items():
        for axis, dim in dims.items():
            if dim not in found:
                first, step = max(2, call.tensors[call.names.index(name)].shape[axis]), len(found) + 1
                found[dim] = [first, first + step, first + 3 * step]
    return found


def _compare(traces: list[_Traced]) -> None:
    """Refuse a model whose graph depends on its dynamic dimensions."""
    first = traces[0].graph.steps
    for other in traces[1:]:
        if len(first) != len(other.graph.steps):
            counts = f"{len(first)} and {len(other.graph.steps)}"
            raise OnnxExporterError(f"the graph depends on a dynamic dimension: it has {counts} operators")
        for one, two in zip(first, other.graph.steps, strict=True):
            if one.name != two.name or [v.index for v in one.inputs()] != [v.index for v in two.inputs()]:
                raise OnnxExporterError(
                    f"the graph depends on a dynamic dimension: there is {one.name}, then {two.name}"
                )


class _Export:
    """Writes the message of a traced call."""

    def __init__(
        self,
        call: ExportedCall,
        dynamic: dict[str, dict[int, str]],
        sizes: dict[str, list[int]],
        traces: list[_Traced],
        output_names: Sequence[str] | None,
    ) -> None:
        self._call, self._dynamic, self._sizes, self._traces = call, dynamic, sizes, traces
        self._output_names = list(output_names or ())
        sources = {dim: (name, axis) for name, dims in reversed(dynamic.items()) for axis, dim in dims.items()}
        self._w = Writer(sources, self._shape)
        #: The steps of the traces side by side.
        self._steps = list(zip(*(each.graph.steps for each in traces), strict=True))
        #: Index of a value that is the same for all inputs → the object.
        self._known: dict[int, Any] = {}

    def write(self) -> Any:
        """Return the message."""
        w, first = self._w, self._traces[0]
        for name, index in zip(self._call.names, first.inputs, strict=True):
            if index is not None:
                w.names.setdefault(index, name)
        for index, name in first.parameters.items():
            if index not in w.names:
                w.names[index] = name
                w.initializers[name] = numpy_helper.from_array(first.tensors[name].detach().cpu().numpy(), name)
        for index, array in first.given.items():
            if index not in w.names:
                if not _are_same([trace.given[index] for trace in self._traces]):
                    raise OnnxExporterError(_FROM_NUMBERS)
                self._keep(index, array)
        constant = self._find_constant()
        self._refuse(constant)
        for steps, is_constant in zip(self._steps, constant, strict=True):
            self._step(steps, is_constant)
        return self._finish()

    def _keep(self, index: int, value: Any) -> None:
        self._known[index] = value
        self._w.folded[index] = np.asarray(getattr(value, "_dispatch_data", value))

    def _find_constant(self) -> list[bool]:
        """Return for each step whether it is the same for all inputs; see Note [What is the same for all inputs]."""
        known, constant = set(self._known), []
        for steps in self._steps:
            step = steps[0]
            if step.name in _WRAPS:
                is_constant, made = step.source.index in known, [step.target]
            else:
                is_constant = all(each.index in known for each in step.inputs()) and _are_same(
                    [*map(_arguments, steps)]
                )
                made = step.outputs
            if is_constant:
                known.update(each.index for each in made if each is not None)
            constant.append(is_constant)
        return constant

    def _refuse(self, constant: list[bool]) -> None:
        """Refuse all operators without a node at once, and those that write or draw."""
        missing = dict[str, None]()
        for (step, *_), is_constant in zip(self._steps, constant, strict=True):
            if step.name in _WRAPS:
                continue
            if step.written:
                raise OnnxExporterError(f"the model writes to a tensor that was there before, by {step.name}")
            if "nondeterministic_seeded" in step.tags:
                raise OnnxExporterError(f"the model draws random numbers, by {step.name}")
            if not is_constant and step.name not in EMITTERS:
                missing[step.name] = None
        if missing:
            raise UnsupportedOperatorError(f"operators that have no node in ONNX here: {', '.join(missing)}")

    def _step(self, steps: Sequence[Any], is_constant: bool) -> None:
        step, w = steps[0], self._w
        if step.name in _WRAPS:
            if is_constant:
                self._keep(step.target.index, self._known[step.source.index])
            else:
                w.names[step.target.index] = lambda: w.name(step.source)
            return
        if is_constant:
            self._fold(step)
            return
        try:
            arguments = [
                self._merge([each[place] for each in map(_arguments, steps)]) for place in range(len(step.parameters))
            ]
            w.results = step.outputs
            found = EMITTERS[step.name](w, *arguments)
        except OnnxExporterError as error:
            raise type(error)(f"{step.shown if hasattr(step, 'shown') else step.name}: {error}") from None
        names = found if isinstance(found, list) else [found]
        w.names.update(
            {
                each.index: name
                for each, name in zip(step.outputs, names, strict=False)
                if each is not None and name is not None
            }
        )

    def _fold(self, step: Any) -> None:
        values: list[Any] = [self._known.get(each.index) for each in self._traces[0].graph.values]
        step.run(values)
        for each in step.outputs:
            if each is not None:
                self._keep(each.index, values[each.index])

    def _merge(self, found: list[Any]) -> Any:
        """Return an argument, with a size where the traces have other numbers."""
        first = found[0]
        if isinstance(first, Value):
            return first
        if isinstance(first, list | tuple):
            if len({len(each) for each in found}) > 1:
                raise OnnxExporterError("a list among its arguments has another length for other inputs")
            return [self._merge(list(each)) for each in zip(*found, strict=True)]
        if _are_same(found):
            return first
        if all(type(each) is int for each in found):
            return find_size(found, self._sizes)
        if isinstance(first, Constant):
            raise OnnxExporterError(_FROM_NUMBERS)
        raise OnnxExporterError(f"an argument is {' or '.join(map(repr, found))}")

    def _shape(self, value: Value) -> tuple[int | DynamicSize, ...]:
        shapes = [trace.graph.values[value.index].shape for trace in self._traces]
        return tuple(
            sizes[0] if len({*sizes}) == 1 else find_size(sizes, self._sizes) for sizes in zip(*shapes, strict=True)
        )

    def _finish(self) -> Any:
        w, first = self._w, self._traces[0]
        inputs = [
            self._describe(name, tensor) for name, tensor in zip(self._call.names, self._call.tensors, strict=True)
        ]
        outputs = []
        own = first.graph.outputs if isinstance(first.graph.outputs, tuple) else (first.graph.outputs,)
        for number, ((name, _), value) in enumerate(zip(first.outputs, own, strict=True)):
            called = self._output_names[number] if number < len(self._output_names) else name
            w.nodes.append(helper.make_node("Identity", [w.name(value)], [called]))
            dims = [_spell(each) for each in self._shape(value)]
            outputs.append(helper.make_tensor_value_info(called, type_of(value.dtype), dims))
        used = {name for node in w.nodes for name in node.input}
        initializers = [each for name, each in w.initializers.items() if name in used]
        graph = helper.make_graph(w.nodes, type(self._call.model).__name__, inputs, outputs, initializers)
        opset = helper.make_opsetid("", OPSET)
        model = helper.make_model(graph, opset_imports=[opset], producer_name="torchlike", producer_version=__version__)
        model.ir_version = 8  # the one that came with these operators
        if sum(len(each.raw_data) for each in initializers) <= MOST_BYTES:
            onnx.checker.check_model(model)
        return model

    def _describe(self, name: str, tensor: Tensor) -> TensorProto:
        dims = self._dynamic.get(name, {})
        shape = [dims.get(axis, size) for axis, size in enumerate(tensor.shape)]
        return helper.make_tensor_value_info(name, type_of(tensor.dtype), shape)


def _arguments(step: Any) -> list[Any]:
    """Return a call's arguments in the order of the schema, with defaults."""
    by_position, by_keyword = step.split()
    rest = step.parameters[len(by_position) :]
    return [*by_position, *(by_keyword.get(each.name, each.default) for each in rest)]


def _are_same(found: Sequence[Any]) -> bool:
    """Return whether the traces have the same argument; that values have the same place `_compare` has seen."""
    first = found[0]
    if isinstance(first, list | tuple):
        return len({len(each) for each in found}) == 1 and all(map(_are_same, zip(*found, strict=True)))
    if isinstance(first, Constant):
        return _are_same([each.value for each in found])
    if isinstance(first, np.ndarray):
        return len({(each.dtype, each.shape, each.tobytes()) for each in found}) == 1
    return isinstance(first, Value) or all(each is first or each == first for each in found)


def _spell(size: int | DynamicSize) -> int | str:
    return size if isinstance(size, int) else str(size)
