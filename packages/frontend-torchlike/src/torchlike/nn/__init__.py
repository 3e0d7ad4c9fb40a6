"""Networks (source: ``torch.nn``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import functional, init, modules
from .parameter import Parameter

if TYPE_CHECKING:
    from typing import Any

__all__ = ["Parameter", "functional", "init", "modules"]
__all__ += modules.__all__


def __getattr__(name: str) -> Any:
    try:
        found = globals()[name] = getattr(modules, name)
    except AttributeError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
