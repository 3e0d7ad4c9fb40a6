"""The two-phase call of an aclnn operator, prepared once for arguments that look alike and made again on other arrays.

Note [Prepared calls]
    Most of what the first phase takes says how arrays look, not where they are. So a call keeps the descriptors that it
    made, and gives them the addresses of the arrays at hand with ``aclSetRawTensorAddr``, which may be done before the
    first phase; what is left of a call is that, the two phases, and the memory that the operator works in. Two threads
    never use one call at a time: it is taken out of its recipe's stock, and comes back when the operator is enqueued. A
    call that fails does not come back: its descriptors are destroyed, and what the first phase made with them.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from dispatch_aten.shapes import TensorMeta

from ..acl import library, reports
from ..acl.constants import DATA_TYPES
from ..arrays import extent
from ..runtime import allocator
from ..runtime.device import Stage, at_finalize, at_timeout
from ..runtime.stream import current
from .descriptors import Descriptors, destroy_all, drain, int64, quarantine
from .table import PROTOTYPES

if TYPE_CHECKING:
    from ..arrays import AclArray

__all__ = ["Call", "Number", "Recipe", "clear", "generation", "keep", "memory_of", "same", "stock"]

_KEPT: Final = 512
#: Everything that keeps calls, by the operator that makes them.
_memories: Final[list[dict[Any, Any]]] = []


def memory_of() -> dict[Any, Any]:
    """Give a dictionary for recipes, which `clear` empties with all others."""
    memory: dict[Any, Any] = {}
    _memories.append(memory)
    return memory


def keep(memory: dict[Any, Any], key: Any, recipe: Any) -> None:
    """Keep a recipe; a program that calls an operator on ever new shapes begins anew from time to time."""
    if len(memory) >= _KEPT:
        memory.clear()
    memory[key] = recipe


class Stock(list[Any]):
    """Prepared things that wait to be used again; `clear` empties those that are still there."""

    __slots__ = ("__weakref__",)

    # Told apart by who they are.
    __eq__ = object.__eq__
    __hash__ = object.__hash__  # type: ignore[assignment]  # lists have none


_stocks: Final[weakref.WeakSet[Stock]] = weakref.WeakSet()


def stock() -> Stock:
    """Give an empty stock."""
    made = Stock()
    _stocks.add(made)
    return made


def clear() -> None:
    """Forget every prepared call and plan, and destroy the descriptors and executors that they hold."""
    for memory in _memories:
        memory.clear()
    for each in list(_stocks):
        each.clear()
    drain()


def _close(device: int) -> None:
    """Destroy every descriptor and executor before the runtime is closed; who still has one must make a new one."""
    global _generation
    _generation += 1
    clear()
    destroy_all()


_generation = 0
at_finalize(Stage.PLANS, _close)
at_timeout(lambda session, device: quarantine())


def generation() -> int:
    """Say how many times the runtime has been closed: what was prepared before cannot be used any more."""
    return _generation


class Number:
    """A number of a recipe that each call gives anew: ``place`` says which of the numbers of the call it is."""

    __slots__ = ("place", "value")

    def __init__(self, place: int, value: Any) -> None:
        self.place, self.value = place, value


class Recipe:
    """What a function's first phase takes, addresses left out, and the calls that have been prepared of it.

    ``values`` stand for the function's arguments in their order: what has a ``spec``, or a `TensorMeta`, for tensors; lists
    of these; a `Number`, or a Python number, for scalars; lists of integers or booleans; scalar types; numbers and text.
    ``specs`` describe the results, and ``sizes`` are the bytes that they take.
    """

    __slots__ = ("arguments", "function", "sizes", "spec", "specs", "stock")

    def __init__(self, function: str, values: Sequence[Any], specs: Sequence[TensorMeta] = ()) -> None:
        self.function = function
        self.specs = tuple(specs)
        self.spec = self.specs[0] if specs else None
        self.sizes = tuple([extent(spec) * spec.dtype.itemsize for spec in self.specs])
        kinds = PROTOTYPES[function]
        assert len(kinds) == len(values), function
        self.arguments = tuple([(kind, _described(kind, value)) for kind, value in zip(kinds, values, strict=True)])
        self.stock: list[Call] = []

    @property
    def size(self) -> int:
        """How many bytes the first result takes."""
        return self.sizes[0]

    def launch(self, arrays: Sequence[AclArray], numbers: Sequence[Any] = ()) -> None:
        """Run the function on arrays, in the order of its tensors, on the current stream."""
        try:
            call = self.stock.pop()
        except IndexError:
            call = Call(self)
        call(arrays, numbers)
        self.stock.append(call)


def _described(kind: str, value: Any) -> Any:
    """Turn an argument into what its descriptor is made of."""
    if kind.endswith("aclTensor*"):
        return None if value is None else _look(value)
    if kind.endswith("aclTensorList*"):
        return tuple([_look(each) for each in value])
    if kind == "aclDataType":
        return DATA_TYPES[value]
    if kind == "char*":
        return value.encode()
    if kind == "int64_t":
        return int64(value)
    if kind.endswith("Array*"):
        return None if value is None else (value,) if isinstance(value, int) else tuple(value)
    return value


def _look(value: Any) -> tuple[TensorMeta, int]:
    return (value, 0) if isinstance(value, TensorMeta) else (value.spec, value.storage_offset)


def same(one: Any, other: Any) -> bool:
    """Tell whether two numbers are the same to ACL; zeros have signs, and not-a-number is never equal to itself."""
    return one is other or (one == other and one.__class__ is other.__class__ and one != 0)


_size_t: Final = ctypes.c_uint64


class Call:
    """One prepared call: descriptors, and what the two phases hand over; see Note [Prepared calls]."""

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

    def __init__(self, recipe: Recipe) -> None:
        self._function = recipe.function
        self._first = library.bind(f"{recipe.function}GetWorkspaceSize")
        self._second = library.bind(recipe.function)
        self._set_address = library.bind("aclSetRawTensorAddr")
        self._size, self._executor = _size_t(), ctypes.c_void_p()
        self._descriptors = made = Descriptors()
        #: Place among the arguments, value, and place among the numbers of a call.
        self._numbers: list[list[Any]] = []
        arguments: list[Any] = []
        for kind, given in recipe.arguments:
            is_number = isinstance(given, Number)
            if is_number:
                self._numbers.append([len(arguments), given.value, given.place])
            arguments.append(made.add(kind, given.value if is_number else given))
        self._arguments = [*arguments, ctypes.byref(self._size), ctypes.byref(self._executor)]
        self._addresses = [0] * len(made.tensors)

    def __call__(self, arrays: Sequence[AclArray], numbers: Sequence[Any]) -> None:
        """Do both phases."""
        stream = current()
        workspace = self.prepare(arrays, numbers)
        if workspace is None:
            status = self._second(None, 0, self._executor, stream.pointer)
        else:
            status = self._second(workspace.pointer, self._size.value, self._executor, stream.pointer)
        # See Note [Idle streams] in runtime.stream: somebody may have waited for the stream meanwhile.
        stream.busy = True
        # Whatever the second phase says, it has deleted the executor.
        if status:
            library.fail(self._function, status)

    def prepare(self, arrays: Sequence[AclArray], numbers: Sequence[Any]) -> allocator.Block | None:
        """Do the first phase; give the memory that the second one works in, if it needs any."""
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
            if value is not number[1] and not same(value, number[1]):
                self._arguments[number[0]] = self._descriptors.replace_scalar(self._arguments[number[0]], value)
                number[1] = value
        executor: Any = self._executor
        executor.value = None
        try:
            status = self._first(*self._arguments)
        except BaseException:
            # An interrupt, which comes when the function has returned: nobody else knows what it has made.
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
