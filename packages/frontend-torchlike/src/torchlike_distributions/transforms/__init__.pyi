"""Invertible functions of random values (source: ``torch.distributions.transforms``).

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""


from .composition import ComposeTransform as ComposeTransform
from .composition import IndependentTransform as IndependentTransform
from .composition import ReshapeTransform as ReshapeTransform
from .composition import Transform as Transform
from .composition import _InverseTransform as _InverseTransform
from .composition import identity_transform as identity_transform
from . import composition as composition
from .elementwise import AbsTransform as AbsTransform
from .elementwise import AffineTransform as AffineTransform
from .elementwise import CumulativeDistributionTransform as CumulativeDistributionTransform
from .elementwise import ExpTransform as ExpTransform
from .elementwise import PowerTransform as PowerTransform
from .elementwise import SigmoidTransform as SigmoidTransform
from .elementwise import SoftplusTransform as SoftplusTransform
from .elementwise import TanhTransform as TanhTransform
from .elementwise import _clipped_sigmoid as _clipped_sigmoid
from . import elementwise as elementwise
from .joining import CatTransform as CatTransform
from .joining import StackTransform as StackTransform
from . import joining as joining
from .vectors import CorrCholeskyTransform as CorrCholeskyTransform
from .vectors import LowerCholeskyTransform as LowerCholeskyTransform
from .vectors import PositiveDefiniteTransform as PositiveDefiniteTransform
from .vectors import SoftmaxTransform as SoftmaxTransform
from .vectors import StickBreakingTransform as StickBreakingTransform
from . import vectors as vectors
__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]
