"""Linear algebra (source: ``torch.linalg``).

>>> import torchlike
>>> torchlike.linalg.det(torchlike.tensor([[2., 0.], [0., 3.]]))
tensor(6.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatch_aten.errors import LinAlgError
from dispatch_core.tracebacks import api_boundary as _api_boundary

from .functions.operator_functions import NAMESPACES
from .names.lazy_names import missing_name

__all__ = ["LinAlgError", *NAMESPACES["linalg"]]  # noqa: PLE0604  # the keys are strings


@_api_boundary
def __getattr__(name: str) -> Callable[..., Any]:
    try:
        return NAMESPACES["linalg"][name]
    except KeyError:
        raise missing_name(__name__, name) from None


def __dir__() -> list[str]:
    return __all__
