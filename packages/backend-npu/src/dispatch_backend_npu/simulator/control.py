"""What tests ask of the simulator: what is alive, what was called, and which call shall fail.

It speaks to the very libraries that the process has loaded, through functions that ACL does not have.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from .build import fingerprint

__all__ = ["KINDS", "Memory", "Simulator"]

#: What is counted, in the order of aclsim_kind in aclsim.h.
KINDS: Final = (
    "contexts",
    "streams",
    "events",
    "tensors",
    "scalars",
    "int_arrays",
    "bool_arrays",
    "tensor_lists",
    "executors",
    "device_memory",
    "host_memory",
)


class Memory(NamedTuple):
    """Device memory in bytes: what is allocated, the most that was, and what there is."""

    live: int
    most: int
    capacity: int


class Simulator:
    """The simulator in a folder that ``build`` made; with no folder, the one that ``ASCEND_HOME_PATH`` names.

    Raises RuntimeError where the libraries are none of the simulator, or of one that other sources have made.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = Path(os.environ.get("ASCEND_HOME_PATH", "") if folder is None else folder)
        path = self.folder / "lib64" / "libascendcl.so"
        try:
            library = ctypes.CDLL(str(path), mode=os.RTLD_LAZY)
            library.aclsimReset.restype = None
        except (OSError, AttributeError) as error:
            raise RuntimeError(
                f"{path} is no simulator: {error}. Hint: build one with python -m dispatch_backend_npu simulator."
            ) from error
        stamp = self.folder / "simulator.txt"
        if stamp.is_file() and stamp.read_text() != fingerprint():
            raise RuntimeError(
                f"the simulator in {self.folder} was built by another version of this package."
                f" Hint: build it anew with python -m dispatch_backend_npu simulator {self.folder}."
            )
        library.aclsimFailNth.argtypes = (ctypes.c_char_p, ctypes.c_int64, ctypes.c_int)
        library.aclsimFailTask.argtypes = (ctypes.c_int64, ctypes.c_int)
        library.aclsimHangTask.argtypes = (ctypes.c_int64,)
        library.aclsimHangTask.restype = None
        library.aclsimSetCapacity.argtypes = (ctypes.c_uint64,)
        library.aclsimLog.argtypes = (ctypes.c_char_p, ctypes.c_int64)
        library.aclsimFailNth.restype = library.aclsimFailTask.restype = library.aclsimSetCapacity.restype = None
        library.aclsimLog.restype = library.aclsimCalls.restype = ctypes.c_int64
        self._library = library

    def reset(self) -> None:
        """Forget the log, the count of calls, faults that are still to come and the capacity; what is alive stays.

        Work that hangs goes on.
        """
        self._library.aclsimReset()

    def counts(self) -> dict[str, int]:
        """Give how many of each kind are alive: only kinds of which there is one."""
        numbers = (ctypes.c_int64 * len(KINDS))()
        self._library.aclsimCounts(numbers, len(KINDS))
        return {kind: number for kind, number in zip(KINDS, numbers, strict=True) if number}

    def memory(self) -> Memory:
        """Give how much device memory is allocated."""
        numbers = (ctypes.c_uint64 * 3)()
        self._library.aclsimMemory(numbers)
        return Memory(*numbers)

    def set_capacity(self, nbytes: int) -> None:
        """Let the device have this much memory, until ``reset``."""
        self._library.aclsimSetCapacity(nbytes)

    def calls(self) -> int:
        """Give how many calls that can fail there were since ``reset``."""
        return int(self._library.aclsimCalls())

    def fail_nth(self, name: str, n: int, code: int = 507899) -> None:
        """Let the ``n``-th call of a function from now give ``code``, of any function where the name is empty.

        Calls that give a pointer give NULL. What releases something has released it all the same.
        """
        self._library.aclsimFailNth(name.encode(), n, code)

    def fail_task(self, n: int, code: int = 507015) -> None:
        """Let the ``n``-th piece of work that a stream executes from now fault: the next synchronisation gives ``code``."""
        self._library.aclsimFailTask(n, code)

    def hang_task(self, n: int = 1) -> None:
        """Let the ``n``-th piece of work that a stream executes from now not end before ``reset``."""
        self._library.aclsimHangTask(n)

    @contextmanager
    def failing(self, name: str, n: int, code: int = 507899) -> Iterator[None]:
        """Within the block the ``n``-th call fails; afterwards none does."""
        self.fail_nth(name, n, code)
        try:
            yield
        finally:
            self.reset()

    def log(self, *, work: bool = False) -> list[str]:
        """Give the names of the functions that were called since ``reset``, in order (the last 65,536).

        With ``work``, also what streams executed, as ``"run aclnnAdd"``.
        """
        size = self._library.aclsimLog(None, 0)
        buffer = ctypes.create_string_buffer(size + 4096)
        self._library.aclsimLog(buffer, len(buffer))
        names = buffer.value.decode().splitlines()
        return names if work else [name for name in names if not name.startswith("run ")]
