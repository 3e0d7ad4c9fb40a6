"""The graph of a file while it is written: names, constants, and nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from dispatch_core.planning import Value

from .errors import OnnxExporterError
from .sizes import DynamicSize

__all__ = ["TYPES", "Writer", "type_of"]

#: The name of a scalar type → that of ONNX.
TYPES: Final = {
    "bool": TensorProto.BOOL,
    "uint8": TensorProto.UINT8,
    "uint16": TensorProto.UINT16,
    "uint32": TensorProto.UINT32,
    "uint64": TensorProto.UINT64,
    "int8": TensorProto.INT8,
    "int16": TensorProto.INT16,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "float16": TensorProto.FLOAT16,
    "bfloat16": TensorProto.BFLOAT16,
    "float32": TensorProto.FLOAT,
    "float64": TensorProto.DOUBLE,
    "complex64": TensorProto.COMPLEX64,
    "complex128": TensorProto.COMPLEX128,
}


def type_of(dtype: Any) -> int:
    """Return ONNX's number of a dtype; ``OnnxExporterError`` for one that it does not have."""
    name = str(getattr(dtype, "short", dtype))
    if name not in TYPES:
        raise OnnxExporterError(f"ONNX has no type for {name}")
    return int(TYPES[name])


class Writer:
    """Collects the nodes and constants of a graph.

    An emitter gets it with the arguments of a call, in the order of the schema: values, numbers, sizes, and lists of these.
    """

    def __init__(
        self, sources: Mapping[str, tuple[str, int]], shape: Callable[[Value], tuple[int | DynamicSize, ...]]
    ) -> None:
        #: Dynamic dimension → the input and the axis that have it.
        self._sources = sources
        #: Return the shape of a value, with sizes in the places of numbers that depend on dynamic dimensions.
        self.shape = shape
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: dict[str, onnx.TensorProto] = {}
        #: Index of a value → its name, or the function that makes it when it is first asked for.
        self.names: dict[int, str | Callable[[], str]] = {}
        #: Index of a value → its array, of those that are the same for all inputs.
        self.folded: dict[int, np.ndarray[Any, Any]] = {}
        #: Index of a value that is the transposed matrix of another → that one.
        self.transposed: dict[int, Value] = {}
        #: The results of the call that is being written.
        self.results: tuple[Value | None, ...] = ()
        self._constants: dict[tuple[Any, ...], str] = {}
        self._sizes: dict[DynamicSize, str] = {}
        self._count = 0

    def name(self, value: Value) -> str:
        """Return the name of a value."""
        found = self.names.get(value.index)
        if found is None:
            array = self.folded.get(value.index)
            if array is None:
                raise OnnxExporterError(f"{value} is a result that is not in the file")
            found = self.constant(array)
        elif not isinstance(found, str):
            found = found()
        self.names[value.index] = found
        return found

    def size(self, value: Value, axis: int) -> int:
        """Return the number of elements along an axis; ``OnnxExporterError`` where it depends on a dynamic dimension."""
        found = self.shape(value)[axis]
        if isinstance(found, DynamicSize):
            raise OnnxExporterError(f"a size that must be fixed here is {found}")
        return found

    def fresh(self) -> str:
        """Return a new name."""
        self._count += 1
        return f"x{self._count}"

    def node(self, kind: str, *inputs: str, results: int = 1, **attributes: Any) -> Any:
        """Add a node; return the name of its result, or a list of several. ``""`` stands for an input that is not given."""
        for name, value in attributes.items():
            if any(isinstance(each, DynamicSize) for each in (value if isinstance(value, list | tuple) else (value,))):
                raise OnnxExporterError(f"{name} of the node {kind} must not depend on a dynamic dimension")
        given = {name: value for name, value in attributes.items() if value is not None}
        made = [self.fresh() for _ in range(results)]
        self.nodes.append(helper.make_node(kind, list(inputs), made, **given))
        return made[0] if results == 1 else made

    def constant(self, value: Any, dtype: Any = None) -> str:
        """Return the name of an array that is the same for all inputs."""
        array = np.asarray(value)
        if dtype is not None:
            # Through a tensor of ONNX, which has types that NumPy lacks.
            array = array.astype(helper.tensor_dtype_to_np_dtype(type_of(dtype)))
        key = array.dtype.str, array.shape, array.tobytes()
        found = self._constants.get(key)
        if found is None:
            found = self._constants[key] = self.fresh()
            self.initializers[found] = numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), found)
        return found

    def ints(self, numbers: Iterable[Any]) -> str:
        """Return the name of a vector of int64: of numbers and sizes."""
        numbers = list(numbers)
        if not any(isinstance(each, DynamicSize) for each in numbers):
            return self.constant(np.array(numbers, np.int64))
        parts = [
            self._size(each) if isinstance(each, DynamicSize) else self.constant(np.array([each], np.int64))
            for each in numbers
        ]
        return str(self.node("Concat", *parts, axis=0)) if len(parts) > 1 else parts[0]

    def scalar(self, number: Any) -> str:
        """Return the name of an int64 without dimensions: a number or a size."""
        if not isinstance(number, DynamicSize):
            return self.constant(np.array(number, np.int64))
        return str(self.node("Squeeze", self._size(number)))

    def _size(self, size: DynamicSize) -> str:
        """Return the name of a vector of one int64: the size."""
        known = self._sizes.get(size)
        if known is not None:
            return known
        made = ""
        for name in size.names:
            source, axis = self._sources[name]
            own = self.node("Shape", source, start=axis, end=axis + 1)
            made = self.node("Mul", made, own) if made else own
        if size.factor.numerator != 1:
            made = self.node("Mul", made, self.constant(np.array([size.factor.numerator], np.int64)))
        if size.factor.denominator != 1:
            made = self.node("Div", made, self.constant(np.array([size.factor.denominator], np.int64)))
        if size.rest:
            made = self.node("Add", made, self.constant(np.array([size.rest], np.int64)))
        self._sizes[size] = made
        return made

    def reshape(self, source: str, shape: Sequence[Any]) -> str:
        """Return the name of an array in another shape; one size that is not a number is left to the node."""
        unknown = [place for place, each in enumerate(shape) if isinstance(each, DynamicSize)]
        if len(unknown) == 1 and -1 not in shape and 0 not in shape:
            shape = [-1 if place in unknown else each for place, each in enumerate(shape)]
        return str(self.node("Reshape", source, self.ints(shape), allowzero=1 if 0 in shape else None))

    def cast(self, value: Value, dtype: Any) -> str:
        """Return the name of a value in another dtype."""
        name = self.name(value)
        return name if type_of(value.dtype) == type_of(dtype) else str(self.node("Cast", name, to=type_of(dtype)))

    def cast_name(self, name: str, dtype: Any) -> str:
        """Return the name of an array in another dtype, whatever its own is."""
        return str(self.node("Cast", name, to=type_of(dtype)))

    def operand(self, value: Any, dtype: Any) -> str:
        """Return the name of a value, number or size as an operand of this dtype."""
        if isinstance(value, Value):
            return self.cast(value, dtype)
        if isinstance(value, DynamicSize):
            return self.cast_name(self.scalar(value), dtype)
        return self.constant(value, dtype)
