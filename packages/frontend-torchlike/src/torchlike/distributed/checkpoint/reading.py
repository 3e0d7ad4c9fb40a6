"""Reading a checkpoint into tensors that are there, whatever mesh it was written on."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torchlike
from dispatch_aten.placements import Partial, placement_of
from dispatch_core.frontends import to_data
from dispatch_core.runtime import find_interface

from ...history.grad_mode import no_grad
from ...serialization.entry import load as load_file
from ...tensors.tensor import Tensor, frontend
from ..device_mesh import as_device_mesh, has_devices
from ..placed.tensor import wrap_part
from ..tensor.dtensor import place
from .default_planner import DefaultLoadPlanner
from .errors import CheckpointException
from .planner import check_planner
from .storage import INDEX, VALUES, find_folder, flatten, is_stateful

__all__ = ["load", "read_index"]


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_reader: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Read a checkpoint into ``state_dict``, in place; all processes call this (source: torch's function of that name).

    Tensors are written to, and lie as they did; other values are replaced in their containers, and objects get their state
    by ``load_state_dict``. With ``planner=DefaultLoadPlanner(allow_partial_load=True)`` names that the checkpoint does not
    have stay as they are. The mesh may be another one than that which the checkpoint was written on.

    Raises ``CheckpointException`` for a folder that is no checkpoint, for names that it does not have, and for tensors of
    another shape; then nothing has been written to.
    """
    check_planner("load", planner, DefaultLoadPlanner)
    folder = find_folder("load", checkpoint_id, storage_reader)
    index, values = read_index(folder)
    states = {key: value.state_dict() if is_stateful(value) else value for key, value in state_dict.items()}
    leaves = [*flatten(states)]
    if planner is not None and planner.allow_partial_load:
        leaves = [each for each in leaves if each[0] in (index if isinstance(each[1], Tensor) else values)]
    _check(folder, leaves, index, values)
    reader = _Reader(folder)
    with no_grad():
        for path, value, container, key in leaves:
            if isinstance(value, Tensor):
                _fill(value, reader, index[path])
            else:
                container[key] = values[path]
    for key, value in state_dict.items():
        if is_stateful(value):
            value.load_state_dict(states[key])
        elif key in states and states[key] is not value:
            state_dict[key] = states[key]


def read_index(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parts of each tensor, and the values."""
    try:
        count = int(json.loads((folder / INDEX).read_text(encoding="utf-8"))["processes"])
        found: dict[str, Any] = {}
        for number in range(count):
            part = json.loads((folder / f"part-{number}.json").read_text(encoding="utf-8"))
            for path, each in part.items():
                found.setdefault(path, each | {"parts": []})["parts"] += each["parts"]
                _check_files(folder, each["parts"])
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise CheckpointException(
            f"load: {str(folder)!r} is no whole checkpoint: {error}\nHint: checkpoint.save writes one"
        ) from error
    return found, load_file(folder / VALUES)


def _check_files(folder: Path, parts: list[Any]) -> None:
    """Raise ``ValueError`` unless the files of parts are in the folder, and nowhere else."""
    for name in {part["file"] for part in parts}:
        if Path(name).name != name or not (folder / name).is_file():
            raise ValueError(f"there is no file {name!r} in it")


def _check(folder: Path, leaves: list[Any], index: dict[str, Any], values: dict[str, Any]) -> None:
    faults = []
    for path, value, _, _ in leaves:
        known = index.get(path)
        if not isinstance(value, Tensor):
            if path not in values:
                faults.append(f"it has no value {path!r}")
        elif known is None:
            faults.append(f"it has no tensor {path!r}")
        elif tuple(known["shape"]) != tuple(value.shape):
            faults.append(f"{path!r} has shape {tuple(known['shape'])} there and {tuple(value.shape)} here")
    if faults:
        shown = "\n\t".join(faults)
        raise CheckpointException(f"load: the checkpoint {str(folder)!r} does not fit:\n\t{shown}")


class _Reader:
    """Reads boxes of tensors from the files of a checkpoint, which are mapped: what is not asked for is not read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, Mapping[str, Tensor]] = {}

    def fill(self, tensor: Tensor, entry: dict[str, Any], start: Sequence[int]) -> None:
        """Write to a tensor the numbers that an entry has from ``start`` on, whichever parts they lie in."""
        for part in entry["parts"]:
            target, source = tensor, None
            for dim, (begin, size) in enumerate(zip(part["start"], part["shape"], strict=True)):
                first, end = max(begin, start[dim]), min(begin + size, start[dim] + tensor.shape[dim])
                if first >= end:
                    break
                target = target.narrow(dim, first - start[dim], end - first)
                source = (self._find(part) if source is None else source).narrow(dim, first - begin, end - first)
            else:
                target.copy_(self._find(part) if source is None else source)

    def read(self, entry: dict[str, Any], dtype: Any, start: Sequence[int], shape: Sequence[int]) -> Tensor:
        """Return the numbers of a box, on the host."""
        made = torchlike.empty(shape, dtype=dtype, device="cpu")
        self.fill(made, entry, start)
        return made

    def _find(self, part: dict[str, Any]) -> Tensor:
        name = part["file"]
        if name not in self._files:
            self._files[name] = load_file(self._folder / name, mmap=True)
        return self._files[name][part["entry"]]


def _fill(tensor: Tensor, reader: _Reader, entry: dict[str, Any]) -> None:
    """Write a checkpoint's numbers to a tensor, of which this process reads the parts that its devices hold."""
    known = placement_of(tensor)
    start = (0,) * tensor.ndim
    if known is None and tensor.is_cpu:
        reader.fill(tensor, entry, start)
        return
    if known is not None and not any(isinstance(each, Partial) for each in known[1]):
        if not has_devices(known[0].device_type):
            spec = tensor._dispatch_data.spec
            part = reader.read(entry, tensor.dtype, [begin for begin, _ in spec.parts], spec.local_size)
            tensor.copy_(wrap_part(part.to(tensor.device), spec))
            return
        engine = find_interface(known[0].device_type).placements
        if hasattr(engine, "fill"):
            array = engine.fill(
                *known,
                tensor.shape,
                lambda begins, shape: to_data(reader.read(entry, tensor.dtype, begins, shape)),
            )
            tensor.copy_(frontend.wrap(array))
            return
    whole = reader.read(entry, tensor.dtype, start, tensor.shape)
    if known is None:
        tensor.copy_(whole)
        return
    mesh = as_device_mesh(known[0])
    tensor.copy_(place(whole.to(mesh.device_type), mesh, known[1], None))
