"""A frontend's part in capturing: its tensors' state besides arrays, which a replay has to make again.

Note [A frontend's part]
    A frontend that implements `frontends.Capture` returns its `CapturePart` for one recorded call, and a value of the
    settings that calls depend on, such as the grad mode, which is asked for before every replay. Without it results are
    tensors without history.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dispatch_core._record import Record
from dispatch_core.lazy_text import repr_by_attributes


class Finish(Record):
    """The frontend's work at each replay, told at the end of a recorded call.

    ``tensors`` are those that it needs then: inputs, results, and others that the call has made. ``restore`` is called
    with this call's counterparts of them, once their arrays are there: inputs are the same objects, all others fresh bare
    tensors. It keeps none of the recorded tensors alive. ``key`` must be equal in the two recordings that are compared.
    ``check(names, name_of, otherwise)`` returns lines of source that find out before a replay whether it fits: ``names`` are
    those of the inputs there, and "None" in the places of the other tensors, ``name_of`` names any other object, and
    ``otherwise`` ends a line where it does not fit.
    ``numbers`` are live numbers, whose values ``restore`` gets as its second argument. ``is_first`` says that the call has
    given tensors their first gradients: it will be another one next time.
    """

    tensors: tuple[Any, ...] = ()
    restore: Callable[[list[Any], tuple[Any, ...]], object] | None = None
    key: object = None
    check: Callable[[Sequence[str], Callable[[Any], str], str], list[str]] | None = None
    numbers: tuple[Any, ...] = ()
    is_first: bool = False


class CapturePart:
    """The frontend's work while a call is recorded. All methods may be left as they are."""

    __repr__ = repr_by_attributes()

    def hold(self, objects: Sequence[Any]) -> None:
        """Take note of the objects that the function refers to, before it is called."""

    def meet(self, tensor: object) -> None:
        """Take note of an input before the call can change it."""

    def check(self) -> None:
        """Refuse a call that has done something a replay could not; also at the end of a call that runs eagerly."""

    def finish(self, results: Sequence[Any]) -> Finish:
        """Return the work of each replay; ``results`` are the tensors that the call returns."""
        return Finish()

    def end(self, *, failed: bool) -> None:
        """Learn that nothing is recorded any more."""
