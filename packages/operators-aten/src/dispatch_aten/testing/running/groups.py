"""Faults with one cause: the kernel that the operators have in common."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..outcomes import Outcome


@dataclass(frozen=True, slots=True)
class FaultGroup:
    """Faults of which each runs one kernel; "" for the kernel of a fault that has nothing in common with another."""

    kernel: str
    faults: tuple[Outcome, ...]

    @property
    def main(self) -> Outcome:
        """Return the fault that is shown: the kernel's own, or the first."""
        return next((fault for fault in self.faults if fault.check == self.kernel), self.faults[0])

    @property
    def others(self) -> list[str]:
        """Return the checks of the other faults."""
        return [fault.check for fault in self.faults if fault is not self.main]


def find_groups(faults: Iterable[Outcome]) -> list[FaultGroup]:
    """Return faults by their causes, those with the most faults first.

    A cause is a kernel whose own check fails, and that the call of another fault runs, or the kernel in which
    others raise. Of several the one with the most faults takes them.

    >>> one = Outcome("aten::exp", "failed", kernels=("aten::exp",))
    >>> two = Outcome("aten::sigmoid", "failed", kernels=("aten::add.Tensor", "aten::exp"))
    >>> [(group.kernel, len(group.faults)) for group in find_groups([two, one, Outcome("fork", "failed")])]
    [('aten::exp', 2), ('', 1)]
    """
    left = list(faults)
    failed = {fault.check for fault in left}
    groups = []
    while left:
        counts: dict[str, list[Outcome]] = {}
        for fault in left:
            for kernel in causes_of(fault, failed):
                counts.setdefault(kernel, []).append(fault)
        kernel = max(counts, key=lambda name: (len(counts[name]), name), default="")
        found = counts.get(kernel, [])
        if len(found) < 2:
            groups += [FaultGroup("", (fault,)) for fault in left]
            break
        groups.append(FaultGroup(kernel, tuple(found)))
        taken = set(map(id, found))
        left = [fault for fault in left if id(fault) not in taken]
    return groups


def causes_of(fault: Outcome, failed: set[str]) -> set[str]:
    """Return the kernels that may be a fault's cause, of those whose own checks failed, or in which it was raised."""
    names = {fault.place.partition(" in ")[0]} if " in " in fault.place else set()
    bare = fault.check.replace("tensors: ", "aten::")
    return {kernel for kernel in (*fault.kernels, bare) if kernel in failed} | names
