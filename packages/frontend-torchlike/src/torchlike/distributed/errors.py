"""The errors of a program that asks for other processes, or for a group that there is not."""

from __future__ import annotations

__all__ = ["NoProcessGroupError"]


class NoProcessGroupError(RuntimeError, ValueError):
    """A call that needs several processes: torch raises ``ValueError`` where no group of them was initialized."""

    def __init__(self, name: str, reason: str = "", hint: str = "") -> None:
        reason = reason or "processes do not communicate here; run the program in one process"
        hint = hint or "is_initialized() and is_available() are False here; programs that ask them first do without"
        super().__init__(f"torch.distributed.{name}: {reason}\nHint: {hint}")


NoProcessGroupError.__module__ = "torchlike.distributed"
