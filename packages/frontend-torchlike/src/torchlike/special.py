"""Special functions (source: ``torch.special``).

>>> import torchlike
>>> torchlike.special.expit(torchlike.tensor([0.0]))
tensor([0.5000])
"""

from __future__ import annotations

from .functions.operator_functions import NAMESPACES
from .names.lazy_names import load_table

__all__, __getattr__, __dir__ = load_table(__name__, NAMESPACES["special"])
