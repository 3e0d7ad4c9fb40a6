"""The two-phase call of an aclnn function, prepared once for arguments of one description and repeated on other arrays.

Note [Prepared calls]
    Most arguments of the first phase describe arrays and do not say where they lie. So a call keeps its descriptors, and
    sets the addresses of the arrays by ``aclSetRawTensorAddr``, which is allowed before the first phase; the rest of a call
    is the two phases and the workspace. Two threads never use one call at a time: it is taken out of its template's pool,
    and put back when the function is enqueued. A call that fails is not put back: its descriptors are destroyed, and
    the executor of its first phase with them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from math import copysign
from typing import TYPE_CHECKING, Any, Final

from dispatch_aten.shapes import TensorMeta, storage_extent
from dispatch_core import BackendError

from ..acl import library, reports
from ..acl.constants import DATA_TYPES
from ..runtime import allocator
from ..runtime.device import chip, is_blocking
from ..runtime.stream import current
from .descriptors import Descriptors, int64
from .dtypes import find_refused
from .table import PROTOTYPES, RESIZING

if TYPE_CHECKING:
    from ..arrays import AclArray


class NotTakenError(BackendError):
    """A function does not take the scalar types of its arguments; the call is computed in another way."""


class ScalarParameter:
    """A scalar argument of a template that each call brings: ``index`` is its position among the numbers of the call."""

    __slots__ = ("index", "value")

    def __init__(self, index: int, value: Any) -> None:
        self.index, self.value = index, value


class CallTemplate:
    """The arguments of a function's first phase without addresses, and the pool of calls that are prepared from it.

    ``values`` are the function's arguments in order: arrays or `TensorMeta` for tensors; lists of these; a
    `ScalarParameter` or a Python number for scalars; lists of integers or booleans; scalar types; numbers and text.
    ``specs`` describe the results, and ``sizes`` are their sizes in bytes. Raises `NotTakenError` for scalar types that the
    function does not take on the chip.
    """

    __slots__ = ("arguments", "function", "pool", "sizes", "spec", "specs")

    def __init__(self, function: str, values: Sequence[Any], specs: Sequence[TensorMeta] = ()) -> None:
        self.function = function
        self.specs = tuple(specs)
        self.spec = self.specs[0] if specs else None
        self.sizes = tuple(map(nbytes_of, self.specs))
        kinds = PROTOTYPES[function]
        assert len(kinds) == len(values), function
        refused = find_refused(function, chip().family, values)
        if refused:
            raise NotTakenError(refused)
        self.arguments = tuple(
            [(kind, _creator_arguments(kind, value)) for kind, value in zip(kinds, values, strict=True)]
        )
        self.pool: list[PreparedCall] = []

    @property
    def size(self) -> int:
        """The size of the first result in bytes."""
        return self.sizes[0]

    def launch(self, arrays: Sequence[AclArray], numbers: Sequence[Any] = ()) -> None:
        """Run the function on arrays, in the order of its tensors, on the current stream."""
        try:
            call = self.pool.pop()
        except IndexError:
            call = (BlockingCall if is_blocking() else PreparedCall)(self)
        call(arrays, numbers)
        if self.function not in RESIZING:
            self.pool.append(call)


def _creator_arguments(kind: str, value: Any) -> Any:
    """Return the arguments from which an argument's descriptor is created."""
    if isinstance(value, ScalarParameter):
        return value
    if kind.endswith("aclTensor*"):
        return None if value is None else _describe(value)
    if kind.endswith("aclTensorList*"):
        return tuple([_describe(each) for each in value])
    if kind == "aclDataType":
        return DATA_TYPES[value]
    if kind == "char*":
        return value.encode()
    if kind == "int64_t":
        return int64(value)
    if kind.endswith("Array*"):
        return None if value is None else (value,) if isinstance(value, int) else tuple(value)
    return value


def _describe(value: Any) -> tuple[TensorMeta, int, int]:
    """Return an array's description, its offset, and the bytes of its block; a description alone has a block of its own."""
    if isinstance(value, TensorMeta):
        return value, 0, nbytes_of(value)
    return value.spec, value.storage_offset, value.block.nbytes


def nbytes_of(spec: TensorMeta) -> int:
    """Return how many bytes an array takes."""
    size: int = storage_extent(spec.shape, spec.strides) * spec.dtype.itemsize
    return size


def is_same_scalar(one: Any, other: Any) -> bool:
    """Return whether two numbers are the same to ACL; zeros have signs, and not-a-number is never equal to itself."""
    if one is other:
        return True
    if one != other or one.__class__ is not other.__class__:
        return False
    return one != 0 or (isinstance(one, (int, float)) and copysign(1, one) == copysign(1, other))


_size_t: Final = ctypes.c_uint64


class PreparedCall:
    """Descriptors, and the executor and workspace size that the first phase leaves; see Note [Prepared calls]."""

    __slots__ = (
        "_addresses",
        "_arguments",
        "_descriptors",
        "_executor",
        "_first",
        "_function",
        "_numbers",
        "_second",
        "_set_address",
        "_size",
    )

    def __init__(self, template: CallTemplate) -> None:
        self._function = template.function
        self._first = library.bind(f"{template.function}GetWorkspaceSize")
        self._second = library.bind(template.function)
        self._set_address = library.bind("aclSetRawTensorAddr")
        self._size, self._executor = _size_t(), ctypes.c_void_p()
        self._descriptors = descriptors = Descriptors()
        #: Index among the arguments, value, and index among the numbers of a call.
        self._numbers: list[list[Any]] = []
        arguments: list[Any] = []
        for kind, argument in template.arguments:
            value = argument
            if isinstance(argument, ScalarParameter):
                value = argument.value
                self._numbers.append([len(arguments), value, argument.index])
            arguments.append(descriptors.add(kind, value))
        self._arguments = [*arguments, ctypes.byref(self._size), ctypes.byref(self._executor)]
        self._addresses = [0] * len(descriptors.tensors)

    def __call__(self, arrays: Sequence[AclArray], numbers: Sequence[Any]) -> None:
        """Do both phases."""
        stream = current()
        workspace = self.prepare(arrays, numbers)
        if workspace is None:
            status = self._second(None, 0, self._executor, stream.pointer)
        else:
            status = self._second(workspace.pointer, self._size.value, self._executor, stream.pointer)
        # Another thread may have waited for the stream meanwhile, see Note [Idle streams] in runtime.stream.
        stream.is_busy = True
        # The second phase has deleted the executor, whatever its status.
        if status:
            library.fail(self._function, status)

    def prepare(self, arrays: Sequence[AclArray], numbers: Sequence[Any]) -> allocator.MemoryBlock | None:
        """Do the first phase; return the workspace of the second one, None where it needs none."""
        addresses = self._addresses
        for index, array in enumerate(arrays):
            pointer = array.block.pointer
            if addresses[index] != pointer:
                status = self._set_address(self._descriptors.tensors[index], pointer)
                if status:
                    library.fail("aclSetRawTensorAddr", status)
                addresses[index] = pointer
        for number in self._numbers:
            value = numbers[number[2]]
            if value is not number[1] and not is_same_scalar(value, number[1]):
                self._arguments[number[0]] = self._descriptors.replace_scalar(self._arguments[number[0]], value)
                number[1] = value
        executor: Any = self._executor
        executor.value = None
        try:
            status = self._first(*self._arguments)
        except BaseException:
            # An interrupt, which comes when the function has returned: nothing else owns its executor.
            if executor.value:
                reports.destroy("aclDestroyAclOpExecutor", executor)
            raise
        if status:
            library.fail(f"{self._function}GetWorkspaceSize", status)
        needed = self._size.value
        if not needed:
            return None
        try:
            return allocator.allocate(needed)
        except BaseException:
            reports.destroy("aclDestroyAclOpExecutor", self._executor)
            raise


class BlockingCall(PreparedCall):
    """A call that waits for the device, so that it raises the device's error."""

    __slots__ = ()

    def __call__(self, arrays: Sequence[AclArray], numbers: Sequence[Any]) -> None:
        """Do both phases, and wait."""
        super().__call__(arrays, numbers)
        current().synchronize()
