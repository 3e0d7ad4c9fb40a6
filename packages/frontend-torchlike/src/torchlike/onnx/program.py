"""The export of a model: traces of its calls, whose operators are written as nodes.

Note [What is the same for all inputs]
    A call whose arguments are the same in all traces, and are no inputs, parameters or results of such, is made when the
    model is exported: masks, positions and tables become constants. Parameters and buffers are never computed with, so that
    they keep their names.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

import dispatch_core as dc
from dispatch_core.planning import Value

from ..nn import Module
from ..tensors.tensor import Tensor
from ..version import __version__
from .errors import OnnxExporterError, UnsupportedOperatorError
from .sizes import DynamicSize, find_size

try:
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    from . import arrangements, elementwise, layers, reductions  # noqa: F401  # they fill the table
    from .emitters import EMITTERS
    from .writer import Writer, type_of
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"torchlike.onnx.export needs the library onnx: {error}; python -m pip install onnx", name=error.name
    ) from None

__all__ = ["ONNXProgram", "export", "running"]

#: The version of ONNX's operators that files are written for, and others that have the same ones.
OPSET: Final = 18
#: The largest file; with more, the parameters lie in another beside it.
MOST_BYTES: int = (1 << 31) - (1 << 20)
#: The steps that are only another tensor around the same array.
_WRAPS: Final = ("wrap", "unwrap")
#: The models that are being exported.
running: Final[list[object]] = []


class ONNXProgram:
    """A model as a graph of ONNX (source: ``torch.onnx.ONNXProgram``).

    ``model_proto`` is the library's message. A call with arrays or tensors runs it by ONNX Runtime.
    """

    def __init__(self, model_proto: Any) -> None:
        self.model_proto = model_proto

    def save(self, destination: Any, *, external_data: bool | None = None, **_: Any) -> None:
        """Write a file; the parameters into one beside it where both together are larger than a file may be, or as asked."""
        path = Path(os.fspath(destination))
        is_large = sum(len(each.raw_data) for each in self.model_proto.graph.initializer) > MOST_BYTES
        if is_large or external_data:
            copied = type(self.model_proto)()
            copied.CopyFrom(self.model_proto)
            onnx.save_model(copied, path, save_as_external_data=True, location=f"{path.name}.data", size_threshold=1024)
        else:
            onnx.save_model(self.model_proto, path)

    def __call__(self, *arguments: Any) -> list[Any]:
        """Return the outputs as arrays, computed by ONNX Runtime."""
        import onnxruntime

        session = onnxruntime.InferenceSession(self.model_proto.SerializeToString(), providers=["CPUExecutionProvider"])
        arrays = [each.numpy() if isinstance(each, Tensor) else np.asarray(each) for each in arguments]
        names = [each.name for each in session.get_inputs()]
        return list(session.run(None, dict(zip(names, arrays, strict=True))))

    def __repr__(self) -> str:
        graph = self.model_proto.graph
        return f"<ONNXProgram: {len(graph.node)} nodes, {len(graph.initializer)} initializers>"


def export(
    model: Any,
    args: Any = (),
    f: Any = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamic_shapes: Any = None,
    dynamic_axes: Mapping[str, Any] | None = None,
    external_data: bool | None = None,
    **options: Any,
) -> ONNXProgram:
    """Return a model as a graph of ONNX's operators, and write it to the file ``f`` if that is given.

    The model is called with ``args``, a tensor or a tuple of arguments, and ``kwargs``, in evaluation mode and without
    gradients. ``dynamic_axes`` maps an input's name to its dynamic dimensions: a list, or a mapping to their names;
    ``dynamic_shapes`` has such mappings in the places of the arguments. It is then called with three sizes of each: the
    graph must be the same. Raises ``UnsupportedOperatorError`` with all operators that have no node,
    ``OnnxExporterError`` for a model that cannot be a graph, ``ModuleNotFoundError`` without the library onnx
    (source: ``torch.onnx.export``).

    >>> import torchlike
    >>> program = export(torchlike.nn.Linear(2, 3), torchlike.ones(4, 2), dynamic_axes={"input": {0: "batch"}})
    >>> program, [each.name for each in program.model_proto.graph.initializer]
    (<ONNXProgram: 2 nodes, 2 initializers>, ['weight', 'bias'])
    """
    if opset_version not in (None, OPSET):
        raise OnnxExporterError(f"opset_version={opset_version}: files are written for operators of version {OPSET}")
    call = _ExportedCall(model, args, kwargs or {}, input_names)
    dynamic = call.dynamic(dynamic_axes or {}, dynamic_shapes)
    running.append(model)
    try:
        with _evaluating(model):
            program = ONNXProgram(_write(call, dynamic, output_names))
    finally:
        running.remove(model)
    if f is not None:
        program.save(f, external_data=external_data)
    return program


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


class _ExportedCall:
    """The call that is exported: a model with its arguments, and the tensors among these by name."""

    def __init__(self, model: Any, args: Any, kwargs: Mapping[str, Any], names: Sequence[str] | None) -> None:
        args = args if isinstance(args, tuple) else (args,)
        if (
            args
            and isinstance(args[-1], dict)
            and not kwargs
            and isinstance(model, Module)
            and not _takes_dict(model, args)
        ):
            args, kwargs = args[:-1], args[-1]
        self.model = model
        signature = inspect.signature(model.forward if isinstance(model, Module) else model)
        self._bound = signature.bind(*args, **kwargs)
        places = [(name, value) for name, value in _flatten(dict(self._bound.arguments)) if isinstance(value, Tensor)]
        given = list(names or ())
        if len(given) > len(places):
            raise OnnxExporterError(
                f"{len(given)} input_names for {len(places)} tensors: {', '.join(n for n, _ in places)}"
            )
        self.names = [*given, *(name for name, _ in places[len(given) :])]
        self.tensors = [value for _, value in places]

    def dynamic(self, axes: Mapping[str, Any], shapes: Any) -> dict[str, dict[int, str]]:
        """Return the names of the dynamic dimensions of each input that has any."""
        found: dict[str, dict[int, str]] = {}
        asked = {name: each for name, each in axes.items() if name in self.names}
        if shapes is not None:
            own = dict(zip(self._bound.arguments, shapes, strict=False)) if isinstance(shapes, list | tuple) else shapes
            asked |= {name: each for name, each in _flatten(dict(own), leaf=_is_dimensions) if each}
        for name, each in asked.items():
            if name not in self.names:
                raise OnnxExporterError(f"no input is called {name!r}; there are {', '.join(self.names)}")
            dims = (
                each
                if isinstance(each, Mapping)
                else dict.fromkeys(each)
                if not _is_specs(each)
                else dict(enumerate(each))
            )
            rank = self.tensors[self.names.index(name)].dim()
            found[name] = {
                axis % rank: str(getattr(dim, "__name__", dim) or f"{name}_{axis}")
                for axis, dim in dims.items()
                if not _is_static(dim)
            }
        return found

    def with_sizes(
        self, dynamic: Mapping[str, Mapping[int, str]], sizes: Mapping[str, int]
    ) -> tuple[Any, list[Tensor]]:
        """Return a bound call whose dynamic dimensions have these sizes, and its tensors."""
        made: dict[int, Tensor] = {}
        for name, tensor in zip(self.names, self.tensors, strict=True):
            resized = tensor.detach()
            for axis, dim in dynamic.get(name, {}).items():
                import torchlike

                index = torchlike.arange(sizes[dim]) % tensor.shape[axis]
                resized = resized.index_select(axis, index.to(tensor.device))
            made.setdefault(id(tensor), resized)
        bound = inspect.BoundArguments(self._bound.signature, dict(self._bound.arguments))
        bound.arguments = _replace(bound.arguments, made)
        return bound, [made[id(each)] for each in self.tensors]


def _takes_dict(model: Module, args: tuple[Any, ...]) -> bool:
    return len(inspect.signature(model.forward).parameters) == len(args)


def _is_dimensions(value: Any) -> bool:
    return (
        value is None
        or (isinstance(value, Mapping) and all(isinstance(each, int) for each in value))
        or _is_specs(value)
    )


def _is_specs(value: Any) -> bool:
    return isinstance(value, list | tuple) and any(not isinstance(each, int | dict | list | tuple) for each in value)


def _is_static(dim: Any) -> bool:
    return isinstance(dim, int) or getattr(dim, "name", "") == "STATIC"


def _flatten(
    value: Any, name: str = "", leaf: Any = lambda value: isinstance(value, Tensor)
) -> Iterator[tuple[str, Any]]:
    """Yield the parts of nested containers with names made of their places."""
    parts: Any = ()
    if leaf(value) and name:
        yield name, value
    elif isinstance(value, Mapping):
        parts = value.items()
    elif isinstance(value, list | tuple):
        parts = enumerate(value)
    elif name:
        yield name, value
    for key, each in parts:
        yield from _flatten(each, f"{name}_{key}" if name else str(key), leaf)


def _replace(value: Any, made: Mapping[int, Any]) -> Any:
    """Return nested containers with other tensors."""
    if isinstance(value, Tensor):
        return made.get(id(value), value)
    if isinstance(value, Mapping):
        return {name: _replace(each, made) for name, each in value.items()}
    if isinstance(value, list | tuple):
        items = [_replace(each, made) for each in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


class _Traced:
    """One trace of the call: its graph, the values of its inputs, and the arrays that it has found elsewhere."""

    def __init__(self, call: _ExportedCall, bound: Any, tensors: list[Tensor]) -> None:
        import torchlike

        with torchlike.no_grad(), dc.trace(functional=True) as trace:
            returned = call.model(*bound.args, **bound.kwargs)
            self.outputs = [(name, each) for name, each in _flatten({"output": returned}) if isinstance(each, Tensor)]
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


def _write(call: _ExportedCall, dynamic: dict[str, dict[int, str]], output_names: Sequence[str] | None) -> Any:
    """Trace the call and return the message of the model."""
    sizes = _choose_sizes(call, dynamic)
    traces = []
    for number in range(3 if sizes else 1):
        bound, tensors = call.with_sizes(dynamic, {name: each[number] for name, each in sizes.items()})
        traces.append(_Traced(call, bound, tensors))
    _compare(traces)
    return _Export(call, dynamic, sizes, traces, output_names).write()


def _choose_sizes(call: _ExportedCall, dynamic: Mapping[str, Mapping[int, str]]) -> dict[str, list[int]]:
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
        call: _ExportedCall,
        dynamic: dict[str, dict[int, str]],
        sizes: dict[str, list[int]],
        traces: list[_Traced],
        output_names: Sequence[str] | None,
    ) -> None:
        self._call, self._dynamic, self._sizes, self._traces = call, dynamic, sizes, traces
        self._output_names = list(output_names or ())
        sources = {dim: (name, axis) for name, dims in reversed(dynamic.items()) for axis, dim in dims.items()}
        self._w = Writer(sources, self._shape)
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
                self._keep(index, array)
        self._refuse()
        for number in range(len(first.graph.steps)):
            self._step([trace.graph.steps[number] for trace in self._traces])
        return self._finish()

    def _keep(self, index: int, value: Any) -> None:
        self._known[index] = value
        self._w.folded[index] = np.asarray(getattr(value, "_dispatch_data", value))

    def _refuse(self) -> None:
        """Refuse all operators without a node at once, and those that write or draw."""
        known, missing = set(self._known), dict[str, None]()
        steps: tuple[Any, ...] = self._traces[0].graph.steps
        for step in steps:
            if step.name in _WRAPS:
                continue
            is_same = self._is_same(step, known)
            known.update(each.index for each in step.outputs if each is not None and is_same)
            if step.written:
                raise OnnxExporterError(f"the model writes to a tensor that was there before, by {step.name}")
            if "nondeterministic_seeded" in step.tags:
                raise OnnxExporterError(f"the model draws random numbers, by {step.name}")
            if not is_same and step.name not in EMITTERS:
                missing[step.name] = None
        if missing:
            raise UnsupportedOperatorError(f"operators that have no node in ONNX here: {', '.join(missing)}")

    def _is_same(self, step: Any, known: Any) -> bool:
        """Return whether one trace's call looks the same for all inputs; see Note [What is the same for all inputs]."""
        return all(each.index in known for each in step.inputs())

    def _step(self, steps: list[Any]) -> None:
        step, w = steps[0], self._w
        if step.name in _WRAPS:
            source, target = step.source.index, step.target.index
            if source in self._known:
                self._keep(target, self._known[source])
            else:
                w.names[target] = lambda: w.name(step.source)
            return
        try:
            arguments = [
                self._merge([each[place] for each in map(_arguments, steps)]) for place in range(len(step.parameters))
            ]
            if self._is_same(step, self._known) and not _has_sizes(arguments):
                self._fold(step)
                return
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
        if all(each is first or each == first for each in found):
            return first
        if all(type(each) is int for each in found):
            return find_size(found, self._sizes)
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


def _has_sizes(value: Any) -> bool:
    return isinstance(value, DynamicSize) or (isinstance(value, list) and any(map(_has_sizes, value)))


def _spell(size: int | DynamicSize) -> int | str:
    return size if isinstance(size, int) else str(size)
