"""Errors of exports."""

from __future__ import annotations

__all__ = ["OnnxExporterError", "UnsupportedOperatorError"]


class OnnxExporterError(RuntimeError):
    """A model that cannot be exported (source: ``torch.onnx.OnnxExporterError``)."""


class UnsupportedOperatorError(OnnxExporterError):
    """Operators that have no node in ONNX here, all of a model's at once (source: ``torch.onnx``)."""
