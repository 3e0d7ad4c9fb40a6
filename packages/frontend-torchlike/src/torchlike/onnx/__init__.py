"""Models as files of ONNX (source: ``torch.onnx``)."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from ..names.lazy_names import load_names as _load_names

if TYPE_CHECKING:
    from .errors import OnnxExporterError as OnnxExporterError
    from .errors import UnsupportedOperatorError as UnsupportedOperatorError
    from .program import ONNXProgram as ONNXProgram
    from .program import export as export

__all__ = [
    "ONNXProgram",
    "OnnxExporterError",
    "OperatorExportTypes",
    "TrainingMode",
    "UnsupportedOperatorError",
    "export",
    "is_in_onnx_export",
    "is_onnxrt_backend_supported",
]


class TrainingMode(Enum):
    """The modes in which a model is exported; ``EVAL`` is the only one here."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class OperatorExportTypes(Enum):
    """The sets of operators that a file may have; ``ONNX`` is the only one here."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


def is_in_onnx_export() -> bool:
    """Return whether a model is being exported.

    >>> is_in_onnx_export()
    False
    """
    from .program import running

    return bool(running)


def is_onnxrt_backend_supported() -> bool:
    """Return False: no function is compiled by ONNX Runtime."""
    return False


_NAMES = {"errors": "OnnxExporterError UnsupportedOperatorError", "program": "ONNXProgram export"}
_late, __getattr__, __dir__ = _load_names(__name__, _NAMES)
