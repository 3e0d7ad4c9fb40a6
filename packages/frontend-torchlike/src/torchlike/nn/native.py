"""Functions of layers where torch has its compiled ones (source: ``torch._C._nn``): those of `torchlike.nn.functional`.

>>> import torchlike
>>> from torchlike.nn import native
>>> native.linear(torchlike.ones(2), torchlike.ones(1, 2))
tensor([2.])
"""

from __future__ import annotations

from typing import Any

from ..functions.operator_functions import FUNCTIONS
from .conversions import parse_to as _parse_to  # noqa: F401  # torch has it here


def __getattr__(name: str) -> Any:
    """Return a function of `torchlike.nn.functional`, or of an operator."""
    from . import functional

    found = getattr(functional, name, None) or FUNCTIONS.get(name)
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return found
