"""Outcomes of checks, and their counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Final

#: Statuses in the order of reports, with their meaning.
STATUSES: Final = {
    "failed": "it does something else than the cpu, or than its shape rule says",
    "unexpected": "it passes, or fails in another way, and a mark says that it fails",
    "passed": "every sample agreed",
    "expected": "it fails as a mark says",
    "missing": "the device has no kernel for it, or for an operator that it is composed of",
    "not run": "nothing could be compared",
}
#: Statuses that fail a run.
FAULTS: Final = frozenset({"failed", "unexpected"})


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one check: an operator's, or that of a part of the kit.

    ``kernel`` is "own" where the device has a kernel, "composed" where an operator is made of others. ``missing`` names
    the operators without a kernel that were needed, ``samples`` counts the calls that were compared, ``calls`` the calls of
    the device's own kernels within the first of them. ``place`` is the kernel of a fault, with file and line, where known,
    ``kernels`` the device's own kernels that ran in the call that failed.
    """

    check: str
    status: str
    reason: str = ""
    kernel: str = ""
    samples: int = 0
    missing: tuple[str, ...] = ()
    calls: int = 0
    place: str = ""
    kernels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "missing", tuple(self.missing))
        object.__setattr__(self, "kernels", tuple(self.kernels))

    @property
    def is_fault(self) -> bool:
        """Return whether the outcome fails the run."""
        return self.status in FAULTS

    def as_data(self) -> dict[str, Any]:
        """Return the outcome for JSON, and for `Outcome` again."""
        return {**asdict(self), "missing": list(self.missing), "kernels": list(self.kernels)}


def count(outcomes: Iterable[Outcome]) -> dict[str, int]:
    """Return how many outcomes have each status, in the order of `STATUSES`.

    >>> count([Outcome("a", "passed"), Outcome("b", "failed")])
    {'failed': 1, 'passed': 1}
    """
    found = Counter(outcome.status for outcome in outcomes)
    return {status: found[status] for status in STATUSES if found[status]}
