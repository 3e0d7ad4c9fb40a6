"""The doctor's findings."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """The doctor's findings on one claim.

    ``outcome`` is ``"ok"``, ``"faulty"`` (it loads, and has kernels that no call
    reaches or fits, or its device's installation is incomplete), ``"failed"`` (it raised),
    ``"crashed"`` (it ended its process), ``"timed out"``, ``"refused"`` (never imported), ``"blocked"`` (kept out on
    purpose), ``"absent"`` (its library is not installed) or ``"outranked"`` (another's claim goes first). ``seconds`` is the
    time that it took to import and register, ``output`` the last lines that it printed before it went wrong.
    """

    kind: str
    name: str
    distribution: str
    version: str
    outcome: str
    reason: str = ""
    seconds: float | None = None
    notes: tuple[str, ...] = ()
    output: str = ""

    @property
    def fine(self) -> bool:
        """Tell whether nothing is wrong: it loads, or does not on purpose."""
        return self.outcome in {"ok", "blocked", "absent", "outranked"}
