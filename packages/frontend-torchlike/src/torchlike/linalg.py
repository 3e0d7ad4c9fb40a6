"""Linear algebra (source: ``torch.linalg``).

>>> import torchlike
>>> torchlike.linalg.det(torchlike.tensor([[2., 0.], [0., 3.]]))
tensor(6.)
"""

from __future__ import annotations

from dispatch_aten.errors import LinAlgError

from .functions.operator_functions import NAMESPACES
from .names.lazy_names import load_table

__all__, __getattr__, __dir__ = load_table(__name__, NAMESPACES["linalg"], LinAlgError)
