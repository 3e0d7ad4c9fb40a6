"""The folder of a checkpoint, and the processes that work on it together.

Note [A checkpoint's folder]
    Each process writes the parts of tensors that are its own to ``part-0.safetensors``, and to ``part-0.json`` which tensor
    each is a part of, from where on. Values besides tensors are in ``values.pt``, as process 0 has them. ``index.json`` is
    written last: a folder without it is no checkpoint. A part is an entry of a safetensors file, so that any reader of that
    format has it.

    All is written to a folder beside, which takes the place of an older checkpoint when it is whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from dispatch_core.runtime import find_interface

from ...tensors.tensor import Tensor
from .errors import CheckpointException

__all__ = ["INDEX", "VALUES", "Processes", "find_folder", "find_processes"]

INDEX: Final = "index.json"
VALUES: Final = "values.pt"


def find_folder(name: str, checkpoint_id: Any, storage: Any) -> Path:
    """Return the folder that a function is given. Raises ``CheckpointException`` for none."""
    found = checkpoint_id if checkpoint_id is not None else getattr(storage, "path", None)
    if found is None:
        raise CheckpointException(f"{name}: no folder was named\nHint: checkpoint_id is its path")
    return Path(found)


class Processes(NamedTuple):
    """The processes that write a checkpoint: the number of this one, how many there are, and what they wait by."""

    number: int
    total: int
    #: The device whose processes they are; None for those of a group, or for one alone.
    device: str | None
    group: Any

    def meet(self, name: str) -> None:
        """Wait until all have come here."""
        if self.total == 1:
            return
        if self.device is not None:
            find_interface(self.device).placements.meet(name)
            return
        from ..collectives import barrier

        barrier(self.group)


def find_processes(tensors: Iterable[Tensor], group: Any) -> Processes:
    """Return the processes of a group, by default of all; where there is no group, those of a device's meshes."""
    from ..process_groups import get_rank, get_world_size, is_group

    if is_group():
        return Processes(get_rank(group), get_world_size(group), None, group)
    for name in {each.device.type for each in tensors}:
        engine = find_interface(name).placements
        if engine is not None and engine.process()[1] > 1:
            number, total = engine.process()
            return Processes(number, total, name, None)
    return Processes(0, 1, None, None)


def flatten(state: Any, prefix: str = "") -> Iterator[tuple[str, Any, Any, Any]]:
    """Yield the leaves of nested containers: the path, the value, and the container with the key that it is found by.

    An object with ``state_dict`` and ``load_state_dict`` is flattened as its state.
    """
    pairs = state.items() if isinstance(state, dict) else enumerate(state)
    for key, value in pairs:
        path = f"{prefix}{key}"
        if isinstance(value, (dict, list)) and value:
            yield from flatten(value, f"{path}.")
        else:
            yield path, value, state, key


def is_stateful(value: Any) -> bool:
    """Return whether an object gives its state, and takes it."""
    return hasattr(value, "state_dict") and hasattr(value, "load_state_dict")
