"""The simulator's interface for tests: counts of live objects, the log of calls, and injected failures.

It calls the libraries that the process has loaded, by functions that ACL does not have.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from ..acl import toolkit
from ..acl.library import open_library
from .compilation import fingerprint

#: The kinds of counted objects, in the order of aclsim_kind in aclsim.h.
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
    "models",
    "communicators",
)

#: What chips do and a test may leave out, in the order of aclsim_behaviour in aclsim.h.
BEHAVIOURS: Final = ("operator cache", "pages", "late indices")


class OperandReadings(NamedTuple):
    """How often operands were read as they are, by transpositions and expansions, by slices, and by ``AsStrided``."""

    as_they_are: int
    moved: int
    sliced: int
    as_strided: int


class FirstPhases(NamedTuple):
    """How many first phases made an executor, and how many the operator cache answered."""

    made: int
    answered: int


class MemoryUsage(NamedTuple):
    """Bytes of device memory, in whole pages: allocated now, allocated at most, and in all."""

    live: int
    most: int
    capacity: int


class Simulator:
    """The simulator in a folder that ``build`` has returned, by default that of ``ASCEND_HOME_PATH``.

    Raises RuntimeError where the libraries are not the simulator's, or were built from other sources.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = Path(os.environ.get("ASCEND_HOME_PATH", "") if folder is None else folder)
        path = self.folder / "lib64" / "libascendcl.so"
        try:
            library = open_library(str(path))
            library.aclsimReset.restype = None
        except (OSError, AttributeError) as error:
            raise RuntimeError(
                f"{path} is no simulator: {error}. Hint: build one with python -m dispatch_backend_npu simulator."
            ) from error
        stamp = self.folder / toolkit.STAMP
        if stamp.is_file() and stamp.read_text(encoding="utf-8") != fingerprint():
            raise RuntimeError(
                f"the simulator in {self.folder} was built by another version of this package."
                f" Hint: build it again with python -m dispatch_backend_npu simulator {self.folder}."
            )
        library.aclsimFailNth.argtypes = (ctypes.c_char_p, ctypes.c_int64, ctypes.c_int)
        library.aclsimFailTask.argtypes = (ctypes.c_int64, ctypes.c_int)
        library.aclsimHangTask.argtypes = (ctypes.c_int64,)
        library.aclsimHangTask.restype = None
        library.aclsimSetCapacity.argtypes = (ctypes.c_uint64,)
        library.aclsimLog.argtypes = (ctypes.c_char_p, ctypes.c_int64)
        library.aclsimFailNth.restype = library.aclsimFailTask.restype = library.aclsimSetCapacity.restype = None
        library.aclsimLeaveOut.argtypes = (ctypes.c_int, ctypes.c_bool)
        library.aclsimLeaveOut.restype = None
        library.aclsimLog.restype = library.aclsimCalls.restype = ctypes.c_int64
        self._library = library

    def reset(self) -> None:
        """Clear the log, all counts of calls, injected failures, the capacity and the operator cache; objects stay alive.

        Hanging work goes on, and nothing is left out any longer.
        """
        self._library.aclsimReset()

    def counts(self) -> dict[str, int]:
        """Return how many objects of each kind are alive, without kinds that have none."""
        numbers = (ctypes.c_int64 * len(KINDS))()
        self._library.aclsimCounts(numbers, len(KINDS))
        return {kind: number for kind, number in zip(KINDS, numbers, strict=True) if number}

    def memory(self) -> MemoryUsage:
        """Return how much device memory is allocated."""
        numbers = (ctypes.c_uint64 * 3)()
        self._library.aclsimMemory(numbers)
        return MemoryUsage(*numbers)

    def set_capacity(self, nbytes: int) -> None:
        """Set the size of the device's memory, until ``reset``."""
        self._library.aclsimSetCapacity(nbytes)

    @contextmanager
    def without(self, *behaviours: str) -> Iterator[None]:
        """Leave out, within the block, some of ``BEHAVIOURS``, by which chips differ from an easier device.

        ``"operator cache"``: a first phase that has run answers equal ones, with executors that cannot be repeated.
        ``"pages"``: an allocation takes whole pages. ``"late indices"``: a kernel faults at an index out of range.
        """
        numbers = [BEHAVIOURS.index(each) for each in behaviours]
        for number in numbers:
            self._library.aclsimLeaveOut(number, True)
        try:
            yield
        finally:
            for number in numbers:
                self._library.aclsimLeaveOut(number, False)

    def readings(self) -> OperandReadings:
        """Return how the operands of the work since ``reset`` were read, by the toolkit's rule for its descriptors."""
        numbers = (ctypes.c_int64 * 4)()
        self._library.aclsimReadings(numbers)
        return OperandReadings(*numbers)

    def first_phases(self) -> FirstPhases:
        """Return the number of first phases since ``reset``."""
        numbers = (ctypes.c_int64 * 2)()
        self._library.aclsimFirstPhases(numbers)
        return FirstPhases(*numbers)

    def calls(self) -> int:
        """Return the number of calls since ``reset`` that can fail."""
        return int(self._library.aclsimCalls())

    def fail_nth(self, name: str, n: int, code: int = 507899) -> None:
        """Make the ``n``-th call of a function from now return ``code``; an empty name means any function.

        Calls that return a pointer return NULL. Calls that release an object release it all the same.
        """
        self._library.aclsimFailNth(name.encode(), n, code)

    def fail_task(self, n: int, code: int = 507015) -> None:
        """Make the ``n``-th next piece of work of a stream fault; the next synchronisation returns ``code``."""
        self._library.aclsimFailTask(n, code)

    def hang_task(self, n: int = 1) -> None:
        """Make the ``n``-th next piece of work of a stream hang until ``reset``."""
        self._library.aclsimHangTask(n)

    @contextmanager
    def failing(self, name: str, n: int, code: int = 507899) -> Iterator[None]:
        """Make the ``n``-th call within the block fail, and reset the simulator afterwards."""
        self.fail_nth(name, n, code)
        try:
            yield
        finally:
            self.reset()

    def log(self, *, work: bool = False) -> list[str]:
        """Return the names of the functions that were called since ``reset``, in order (the last 65,536).

        With ``work``, the work that streams executed is among them, as ``"run aclnnAdd"``.
        """
        size = self._library.aclsimLog(None, 0)
        buffer = ctypes.create_string_buffer(size + 4096)
        self._library.aclsimLog(buffer, len(buffer))
        names = buffer.value.decode().splitlines()
        return names if work else [name for name in names if not name.startswith("run ")]
