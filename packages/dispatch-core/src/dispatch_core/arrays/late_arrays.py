"""Arrays that are computed late, whose sizes may not be known until then.

Note [Sizes that are not known]
    The library behind a device may hold an array back until its values are needed (Dask). Where a size of it depends on
    values (``x[x > 0]``), its ``ArrayType.shape`` answers None in that place. None never leaves the array: the reader of
    such a type is a `Sizes`, which has the array computed before it answers, by the plugin's hook ``dispatch_compute``. So
    all readers of a shape get ints: a frontend, a shape rule, a history, a recorder, a key of a cache.
    Calls have the arrays computed first whose sizes they need (`calls.late_calls`), and count them with their operator.

Note [Computed once]
    The computed array takes the place of the late one in the tensor that holds it. Others may hold the late one too: a
    history, a pending value, the caller. So it is kept which array was computed for which, as long as the late one lives.
    A type without weak references has its arrays computed each time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from typing import Any, Final
from weakref import ref

from .._record import replace
from ..errors import BackendError, DispatchError
from .types import Array, ArrayType

#: Operator → how many arrays were computed because it needed their sizes; "shape" for reads outside of operators.
COMPUTED_FOR: Final[Counter[str]] = Counter()
#: The devices that compute late, so that other programs need not look for their arrays.
IN_USE: Final[set[str]] = set()
#: The operator that runs now on arrays of a device that computes late.
CALLED: Final[ContextVar[str]] = ContextVar("dispatch_core.arrays.late_arrays", default="shape")
#: id of a living array → a reference that removes the entry when the array is gone, and its computed value.
_computed: Final[dict[int, tuple[ref[Any], Any]]] = {}
#: id of a living result that nothing has computed yet → a reference to it, and its reader.
_waiting: Final[dict[int, tuple[ref[Any], Sizes]]] = {}


class Sizes:
    """The reader of shapes of an array type that may answer None; see Note [Sizes that are not known].

    ``ask`` is the vendor's reader, ``hook`` the plugin's ``dispatch_compute``.
    """

    __slots__ = ("_hook", "_type", "ask", "device")

    def __init__(self, device: str, known: ArrayType, hook: Callable[[Sequence[Any]], Sequence[Any]]) -> None:
        self.device, self._type, self._hook, self.ask = device, known.type, hook, known.shape

    def __call__(self, array: Array) -> tuple[int, ...]:
        """Return an array's shape; it is computed for that where a size is not known, and counted."""
        sizes = self.ask(array)
        if None not in sizes:
            return sizes
        count_computed(CALLED.get(), 1)
        return self.ask(self.compute([array])[0])

    def compute(self, arrays: Sequence[Any]) -> list[Any]:
        """Return the arrays computed: those that were not yet by one call of the plugin's hook.

        Raises ``BackendError`` where the hook raises, or returns something else than as many arrays with known sizes.
        """
        todo = {id(array): array for array in arrays if find_computed(array) is None}
        if todo:
            for late, made in zip(todo.values(), self._ask_hook(list(todo.values())), strict=True):
                todo[id(late)] = made
                keep_computed(late, made)
        return [todo[id(array)] if id(array) in todo else find_computed(array) for array in arrays]

    def _ask_hook(self, arrays: list[Any]) -> Sequence[Any]:
        try:
            made = self._hook(arrays)
        except DispatchError:
            raise
        except Exception as error:
            count = f"{len(arrays)} array{'' if len(arrays) == 1 else 's'}"
            raise BackendError(
                f"device {self.device!r}: {count} could not be computed: {type(error).__name__}: {error}",
                hint="the tensors are as they were; the error above is the library's",
            ) from error
        is_list = isinstance(made, (list, tuple))
        if not is_list or len(made) != len(arrays):
            what = f"a {type(made).__name__} of length {len(made)}" if is_list else type(made).__name__
            raise BackendError(
                f"device {self.device!r}: dispatch_compute returned {what} for a list of length {len(arrays)}",
                hint="return a list with the computed array for each",
            )
        for array in made:
            if not isinstance(array, self._type) or None in self.ask(array):
                raise BackendError(
                    f"device {self.device!r}: dispatch_compute returned {type(array).__name__} without known sizes",
                    hint="a computed array is of the device's own type, and knows all of its sizes",
                )
        return made


def compute_late(device: str, known: ArrayType, hook: Callable[[Sequence[Any]], Sequence[Any]]) -> ArrayType:
    """Return an array type whose arrays are computed by ``hook`` where a size is not known."""
    if not known.is_described:
        return known
    IN_USE.add(device)
    # A layout that names no size would represent arrays of several.
    return replace(known, shape=Sizes(device, known, hook), layout=None)


def find_computed(array: Array) -> Array | None:
    """Return the computed value of an array: itself where it was computed already; None for one that was not."""
    found = _computed.get(id(array))
    if found is None or found[0]() is not array:
        return None
    return array if found[1] is None else found[1]


def keep_computed(late: Array, made: Array) -> None:
    """Remember ``made`` for ``late``; see Note [Computed once]."""
    _waiting.pop(id(late), None)
    for array, value in ((late, made), (made, None)):
        if array is not value:
            with suppress(TypeError):
                _computed[id(array)] = ref(array, partial(_drop, _computed, id(array))), value


def keep_waiting(array: Array, reader: Sizes) -> None:
    """Remember a result that a synchronisation would compute."""
    if find_computed(array) is None:
        with suppress(TypeError):
            _waiting[id(array)] = ref(array, partial(_drop, _waiting, id(array))), reader


def waiting() -> Iterable[tuple[Sizes, list[Any]]]:
    """Yield the living results that nothing has computed yet, by their readers."""
    found: dict[int, tuple[Sizes, list[Any]]] = {}
    for reference, reader in list(_waiting.values()):
        array = reference()
        if array is not None:
            found.setdefault(id(reader), (reader, []))[1].append(array)
    return found.values()


def count_computed(operator: str, arrays: int) -> None:
    """Count arrays that were computed because an operator, or a read of a shape, needed their sizes."""
    COMPUTED_FOR[operator] += arrays
    for listener in LISTENERS:
        listener(operator, arrays)


#: Called with each count; the pipelines, which stand above, count for their figures.
LISTENERS: Final[list[Callable[[str, int], None]]] = []


def _drop(table: dict[int, Any], key: int, reference: ref[Any]) -> None:
    found = table.get(key)
    if found is not None and found[0] is reference:
        del table[key]
