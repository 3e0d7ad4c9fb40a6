"""ONNX files, which are not written (source: ``torch.onnx``)."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["export", "is_in_onnx_export"]


def export(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise ``NotImplementedError``: a network is not turned into a graph of ONNX here."""
    raise NotImplementedError("torch.onnx.export is not implemented: a network is not turned into a graph of ONNX here")


def is_in_onnx_export() -> bool:
    """Return False."""
    return False
