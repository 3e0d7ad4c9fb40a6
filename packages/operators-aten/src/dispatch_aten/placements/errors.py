"""The error of tensors that do not lie on a mesh as was asked."""

from __future__ import annotations

from ..errors import OperatorError

__all__ = ["PlacementError"]


class PlacementError(OperatorError, ValueError):
    """A mesh or placement that cannot be, or that does not fit a tensor (torch has ``ValueError`` for it, mostly)."""
