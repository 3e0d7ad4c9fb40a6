"""Communicators: what HCCL has opened for a group on a device, and the collectives that they run.

A collective is queued on the thread's current stream. Its arrays lie row-major in one piece; their blocks are kept until
that stream has passed the call. A communicator's calls have one order, which is the same in all ranks.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from typing import Any, Final

from dispatch_aten.collectives import CollectiveError, ProcessGroup, RankLostError
from dispatch_aten.dtypes import ScalarType
from dispatch_aten.shapes import contiguous

from .. import arrays
from ..acl.errors import AclError
from ..acl.library import bind, recent_message
from ..aclnn.launch import launch
from ..arrays import AclArray
from ..runtime import device as devices
from ..runtime import memory
from ..runtime.event import Event
from ..runtime.session import Stage, at_finalize
from ..runtime.stream import Stream, current
from ..runtime.waiting import watchers
from .data_types import HCCL_RECV, HCCL_SEND, number_of, numbers_of
from .errors import GONE, call, fail, symbol_of, text_of

ROOT_INFO_BYTES: Final = 4108
"""The size of an ``HcclRootInfo``, by the toolkit's header."""
NAME_BYTES: Final = 128
"""The size of a communicator's name, by the toolkit's header."""

#: How many seconds the store may take to tell of a rank that is gone, once HCCL has failed.
_PATIENCE: Final = 1.0


class SendRecvItem(ctypes.Structure):
    """``HcclSendRecvItem``: something to send or to receive."""

    _fields_ = (
        ("kind", ctypes.c_int),
        ("buffer", ctypes.c_void_p),
        ("count", ctypes.c_uint64),
        ("dtype", ctypes.c_int),
        ("rank", ctypes.c_uint32),
    )


_open: Final[weakref.WeakSet[Communicator]] = weakref.WeakSet()


def connect(group: ProcessGroup, index: int) -> Communicator:
    """Return a communicator of a group on a device; all ranks call this.

    Raises ``HcclError``, and the store's errors where a rank is gone or does not come in time.
    """
    with devices.guard(index):
        root = group.share("hccl", _make_root_info)
        # HCCL itself would wait long for a rank that is gone.
        group.meet("hccl")
        pointer = ctypes.c_void_p()
        call(
            "HcclCommInitRootInfo",
            group.size,
            ctypes.create_string_buffer(root, ROOT_INFO_BYTES),
            group.rank,
            ctypes.byref(pointer),
        )
        return Communicator(group, index, pointer.value or 0)


def _make_root_info() -> bytes:
    made = ctypes.create_string_buffer(ROOT_INFO_BYTES)
    call("HcclGetRootInfo", made)
    return made.raw


def _address(array: AclArray) -> int:
    return int(array.pointer + array.storage_offset * array.spec.dtype.itemsize)


class Communicator:
    """An ``HcclComm`` of a group on a device."""

    __slots__ = ("__weakref__", "_last", "device", "group", "pointer")

    def __init__(self, group: ProcessGroup, device: int, pointer: int) -> None:
        self.group, self.device, self.pointer = group, device, pointer
        #: Behind the last call.
        self._last = Event()
        _open.add(self)
        if group.size > 1 and _watch not in watchers:
            watchers.append(_watch)

    @property
    def name(self) -> str:
        """The communicator's name in HCCL's logs."""
        text = ctypes.create_string_buffer(NAME_BYTES)
        call("HcclGetCommName", self._ensure(), text)
        return text.value.decode(errors="replace")

    def close(self) -> None:
        """Destroy the communicator, once its stream has done its calls; a second time does nothing."""
        if self.pointer:
            pointer, self.pointer = self.pointer, 0
            _open.discard(self)
            call("HcclCommDestroy", pointer)

    def is_idle(self) -> bool:
        """Return whether all calls are done."""
        return self._last.query()

    def check(self) -> None:
        """Raise ``CollectiveError`` where a call has failed on the device."""
        found = ctypes.c_int()
        call("HcclGetCommAsyncError", self._ensure(), ctypes.byref(found))
        if found.value:
            raise self.describe_failure(found.value, "")

    def barrier(self) -> None:
        """Queue a wait for all ranks."""
        self._run("HcclBarrier", (), ())

    def all_reduce(self, array: AclArray, reduction: str, into: AclArray) -> AclArray:
        """Combine the arrays of all ranks."""
        return self._reduce("HcclAllReduce", array, reduction, into)

    def reduce_scatter(self, array: AclArray, reduction: str, into: AclArray) -> AclArray:
        """Combine the arrays of all ranks, and keep this rank's part."""
        return self._reduce("HcclReduceScatter", array, reduction, into)

    def all_gather(self, array: AclArray, into: AclArray) -> AclArray:
        """Lay the arrays of all ranks behind each other."""
        dtype, count = number_of("HcclAllGather", array.spec.dtype), array.spec.numel
        if count:
            self._run("HcclAllGather", (array, into), (_address(array), _address(into), count, dtype))
        return into

    def broadcast(self, array: AclArray, root: int, into: AclArray) -> AclArray:
        """Give all ranks the array of one of them."""
        dtype, count = number_of("HcclBroadcast", array.spec.dtype), array.spec.numel
        if count:
            if _address(array) != _address(into):
                with devices.guard(self.device):
                    memory.copy_on_device(_address(into), _address(array), count * array.spec.dtype.itemsize)
            self._run("HcclBroadcast", (into,), (_address(into), count, dtype, root))
        return into

    def exchange(
        self, sends: Sequence[tuple[AclArray, int]], receives: Sequence[tuple[AclArray, int]]
    ) -> list[AclArray]:
        """Send arrays and receive others, all at once."""
        listed = [(HCCL_SEND, *each) for each in sends] + [(HCCL_RECV, *each) for each in receives]
        listed = [each for each in listed if each[1].spec.numel]  # both sides leave out what has no elements
        numbers = [number_of("HcclBatchSendRecv", array.spec.dtype) for _, array, _ in listed]
        if len(listed) == 1:
            ((kind, array, rank),) = listed
            name = "HcclSend" if kind == HCCL_SEND else "HcclRecv"
            self._run(name, (array,), (_address(array), array.spec.numel, numbers[0], rank))
        elif listed:
            items = (SendRecvItem * len(listed))(
                *[
                    SendRecvItem(kind, _address(array), array.spec.numel, dtype, rank)
                    for (kind, array, rank), dtype in zip(listed, numbers, strict=True)
                ]
            )
            self._run("HcclBatchSendRecv", [array for _, array, _ in listed], (items, len(items)))
        return [array for array, _ in receives]

    def _reduce(self, name: str, array: AclArray, reduction: str, into: AclArray) -> AclArray:
        if array.spec.dtype is ScalarType.Byte:
            return self._reduce_bytes(name, array, reduction, into)
        numbers = numbers_of(name, array.spec.dtype, reduction)
        if into.spec.numel:
            self._run(name, (array, into), (_address(array), _address(into), into.spec.numel, *numbers))
        return into

    def _reduce_bytes(self, name: str, array: AclArray, reduction: str, into: AclArray) -> AclArray:
        """Combine unsigned bytes, for which HCCL has no reduction, as int32, and cut the results off."""
        if array.spec.numel:
            with devices.guard(self.device):
                wide, made = (arrays.allocate_array(contiguous(each.shape, ScalarType.Int)) for each in (array, into))
                launch("aclnnCast", array, ScalarType.Int, wide)
                self._reduce(name, wide, reduction, made)
                launch("aclnnInplaceCopy", into, made)
        return into

    def _run(self, name: str, blocks: Sequence[AclArray], values: tuple[Any, ...]) -> None:
        pointer = self._ensure()
        with devices.guard(self.device):
            stream: Stream = current()
            stream.check()
            status = bind(name)(*values, pointer, stream.pointer)
            if status:
                fail(name, status)
            for array in blocks:
                array.block.record_stream(stream)
            self._last.record(stream)
            if devices.is_blocking():
                stream.synchronize()

    def _ensure(self) -> int:
        if not self.pointer:
            raise CollectiveError(f"the communicator of group {self.group.name!r} on npu:{self.device} was closed")
        return self.pointer

    def describe_failure(self, code: int, detail: str) -> CollectiveError:
        """Return the error of a call that has failed on the device, which names the ranks that are gone."""
        what = f"collectives of group {self.group.name!r} on npu:{self.device} have failed with {symbol_of(code)}"
        message = ": ".join(filter(None, (what, text_of(code), detail.strip())))
        lost = self.group.find_lost(_PATIENCE) if code in GONE else ()
        return RankLostError(lost, message) if lost else CollectiveError(message)


def _explain(function: str, status: int) -> None:
    """Raise ``CollectiveError`` where a collective is why the work of the thread's device has failed."""
    here = _open_here()
    if not here:
        return
    detail = recent_message()  # read before another call clears it
    cause = AclError(function, status, detail)
    for each in here:
        found = ctypes.c_int()
        if not bind("HcclGetCommAsyncError")(each.pointer, ctypes.byref(found)) and found.value:
            raise each.describe_failure(found.value, detail) from cause
    raise cause


def _watch() -> None:
    """Raise ``RankLostError`` where the thread's device has a collective to do, and a rank of its group is gone.

    It would not end before HCCL gives up, in half an hour by default.
    """
    for each in _open_here():
        if not each.is_idle() and (lost := each.group.find_lost()):
            raise RankLostError(lost, f"npu:{each.device} has not finished, and works for group {each.group.name!r}")


def _open_here() -> list[Communicator]:
    return [each for each in _open if each.device == devices.current()]


def _close(device: int) -> None:
    failures = []
    for each in [each for each in _open if each.device == device]:
        try:
            each.close()
        except CollectiveError as error:
            failures.append(error)
    if failures:
        raise failures[0]


devices.explanations.append(_explain)
at_finalize(Stage.PLANS, _close)
