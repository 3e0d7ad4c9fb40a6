"""Exported models, and the function that exports them; the library onnx is imported when it is called."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from .emitters import MOST_BYTES, OPSET
from .errors import OnnxExporterError

__all__ = ["ONNXProgram", "export", "running"]

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
        import onnx

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
        import numpy as np
        import onnxruntime

        session = onnxruntime.InferenceSession(self.model_proto.SerializeToString(), providers=["CPUExecutionProvider"])
        arrays = [each.numpy() if hasattr(each, "numpy") else np.asarray(each) for each in arguments]
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
    try:
        from .exporter import write_model
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"torchlike.onnx.export needs the library onnx: {error}; python -m pip install onnx", name=error.name
        ) from None
    running.append(model)
    try:
        made = write_model(model, args, kwargs or {}, input_names, output_names, dynamic_axes or {}, dynamic_shapes)
    finally:
        running.remove(model)
    program = ONNXProgram(made)
    if f is not None:
        program.save(f, external_data=external_data)
    return program
