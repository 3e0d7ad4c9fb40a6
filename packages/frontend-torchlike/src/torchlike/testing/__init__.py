"""Comparing tensors in tests (source: ``torch.testing``)."""

from .closeness import assert_close

__all__ = ["assert_close"]
