"""Comparing tensors in tests (source: ``torch.testing``)."""

from .closeness import assert_allclose, assert_close

__all__ = ["assert_allclose", "assert_close"]
