"""The part ``collectives`` of the cpu's interface, which chooses the engine of a group. Neither is imported before."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from dispatch_aten.collectives import ProcessGroup

    from .connection import Connection

__all__ = ["Collectives"]

#: The variables by which launchers of MPI tell a process its number, and how many there are.
_LAUNCHERS: Final = (("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE"))
_INSTALL: Final = "pip install 'dispatch-backend-cpu[{}]'"


class Collectives:
    """The cpu's exchange of data with other processes."""

    #: The names by which programs ask for it; the first is that of a group for which none was chosen.
    names = ("gloo", "mpi")

    def find_missing(self, backend: str = "") -> tuple[str, str] | None:
        """Return why processes cannot exchange data, and a hint; None where they can."""
        if self.find_place() is not None:
            if find_spec("mpi4py") is None:
                return "the processes of mpirun exchange data by mpi4py, which is not installed", _INSTALL.format("mpi")
        elif backend == "mpi":
            return (
                "this process was not started by mpirun",
                f"mpirun -n 2 python PROGRAM starts two; {_INSTALL.format('mpi')} has it",
            )
        elif find_spec("jax") is None:
            return (
                "this process was not started by mpirun, and without it JAX is needed, which is not installed",
                f"{_INSTALL.format('mpi')}, and start the program by mpirun; or {_INSTALL.format('gloo')}",
            )
        return None

    def find_place(self) -> tuple[int, int] | None:
        """Return the rank of this process and their number, where a launcher of MPI has started several."""
        for rank, size in _LAUNCHERS:
            if os.environ.get(size, "1") != "1" and rank in os.environ:
                return int(os.environ[rank]), int(os.environ[size])
        return None

    def open_store(self, timeout: float) -> Any:
        """Return a store of the processes that a launcher of MPI has started."""
        from .mpi import open_store

        return open_store(timeout)

    def connect(self, group: ProcessGroup, index: int) -> Connection:
        """Return an engine for a group; all its processes call this."""
        from dispatch_aten.collectives import CollectiveError

        missing = self.find_missing(group.backend)
        if missing is not None:
            raise CollectiveError(missing[0], hint=missing[1])
        if self.find_place() is not None:
            from .mpi import connect
        else:
            from .gloo import connect  # type: ignore[assignment]
        return connect(group)

    def close(self, connection: Connection) -> None:
        """Give a connection back."""
        connection.close()

    def all_reduce(self, connection: Connection, array: Any, reduction: str, into: Any) -> Any:
        """Combine the arrays of all ranks."""
        return connection.all_reduce(array, reduction, into)

    def reduce_scatter(self, connection: Connection, array: Any, reduction: str, into: Any) -> Any:
        """Combine the arrays of all ranks, and keep this rank's part."""
        return connection.reduce_scatter(array, reduction, into)

    def all_gather(self, connection: Connection, array: Any, into: Any) -> Any:
        """Lay the arrays of all ranks behind each other."""
        return connection.all_gather(array, into)

    def broadcast(self, connection: Connection, array: Any, root: int, into: Any) -> Any:
        """Give all ranks the array of one of them."""
        return connection.broadcast(array, root, into)

    def exchange(self, connection: Connection, sends: Any, receives: Any) -> Any:
        """Send arrays and receive others."""
        return connection.exchange(sends, receives)
