"""Invertible functions of random values (source: ``torch.distributions.transforms``)."""

from __future__ import annotations

__name__ = "torchlike.distributions.transforms"  # see Note [Public paths]

from typing import Final

from torchlike.names.lazy_names import load_names

_NAMES: Final = {
    "composition": (
        "ComposeTransform IndependentTransform ReshapeTransform Transform _InverseTransform identity_transform"
    ),
    "elementwise": (
        "AbsTransform AffineTransform CumulativeDistributionTransform ExpTransform PowerTransform "
        "SigmoidTransform SoftplusTransform TanhTransform _clipped_sigmoid"
    ),
    "joining": "CatTransform StackTransform",
    "vectors": (
        "CorrCholeskyTransform LowerCholeskyTransform PositiveDefiniteTransform SoftmaxTransform StickBreakingTransform"
    ),
}
_listed, __getattr__, __dir__ = load_names(__name__, _NAMES)
__all__ = [name for name in _listed if not name.startswith("_")]
