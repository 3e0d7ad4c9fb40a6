"""The command ``dispatch``: a module for each of its commands, and their common parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .program import main

__all__ = ["main"]

if not TYPE_CHECKING:  # other commands run programs by `running`, without the modules of this one

    def __getattr__(name: str) -> Any:
        if name != "main":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from .program import main

        return main
