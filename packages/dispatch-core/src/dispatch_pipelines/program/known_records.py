"""Records that a guard has recognised, and what a plan starts from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .fingerprints import fingerprint
from .model import DEFAULTS

if TYPE_CHECKING:
    from dispatch_core.keys import context

    from ..record.pending import Pending
    from ..record.steps import RecordedCall, Step
    from ..run.step_queue import StepQueue


class KnownRecords:
    """The first calls of a queue, recognised without a fingerprint: see Note [Guards] in `guards`.

    Their plan needs no steps and no numbers of results, unless one of them fails or asks for a value; both are made then.
    """

    __slots__ = ("_queue", "_slots", "_steps", "count", "pending", "state", "values")

    def __init__(
        self, queue: StepQueue, records: Sequence[RecordedCall], values: list[Any], pending: Mapping[int, Pending]
    ) -> None:
        self._queue, self.count = queue, len(records)
        #: The arrays and floats that are given; None where the calls make something.
        self.values = values
        #: Index of a result → the pending value, of those that are kept.
        self.pending = pending
        self._steps: Sequence[Step] | None = None
        self._slots: Mapping[int, int] | None = None
        first = records[0]
        #: The context's masks at the calls.
        self.state: context.State | None = first[5] if type(first) is tuple else getattr(first, "state", None)

    @property
    def steps(self) -> Sequence[Step]:
        """The calls as steps, made of the records at the first use."""
        found = self._steps
        if found is None:
            found = self._steps = self._queue.steps[: self.count]
        return found

    @property
    def has_steps(self) -> bool:
        """Whether the calls are steps by now."""
        return self._steps is not None

    def slot_of(self, output: Pending) -> int:
        """Return the index of a call's result."""
        found = self._slots
        if found is None:
            again = fingerprint(self.steps, DEFAULTS)
            assert again is not None
            found = self._slots = again.slots
        return found[id(output)]
