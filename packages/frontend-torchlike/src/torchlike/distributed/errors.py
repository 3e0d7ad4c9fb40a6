"""The errors of a program that asks for other processes, or for a group that there is not."""

from __future__ import annotations

__all__ = ["NoProcessGroupError"]


class NoProcessGroupError(RuntimeError, ValueError):
    """A call that needs several processes: torch raises ``ValueError`` where no group of them was initialized."""

    def __init__(self, name: str, reason: str = "", hint: str = "") -> None:
        reason = reason or "Default process group has not been initialized"
        hint = hint or (
            "init_process_group() makes it: of one process with nothing installed, of several by mpirun and "
            "dispatch-backend-cpu[mpi], or by torchlike.distributed.run and dispatch-backend-cpu[gloo]"
        )
        super().__init__(f"torch.distributed.{name}: {reason}\nHint: {hint}")


NoProcessGroupError.__module__ = "torchlike.distributed"
