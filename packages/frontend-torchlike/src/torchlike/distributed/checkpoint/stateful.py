"""Objects that give their state, and take it (source: ``torch.distributed.checkpoint.stateful``)."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

__all__ = ["Stateful"]


@runtime_checkable
class Stateful(Protocol):
    """The protocol of objects that a checkpoint keeps the state of (source: torch's).

    >>> import torchlike
    >>> isinstance(torchlike.nn.Linear(1, 1), Stateful), isinstance(3, Stateful)
    (True, False)
    """

    def state_dict(self) -> dict[str, Any]:
        """Return the state."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take a state."""
        ...
