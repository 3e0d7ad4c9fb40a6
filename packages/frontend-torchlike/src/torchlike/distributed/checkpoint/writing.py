"""Writing a checkpoint: each process its own parts; see Note [A checkpoint's folder] in `.storage`."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from threading import Thread
from typing import Any

from dispatch_aten.placements import placement_of
from dispatch_aten.placements.operators import without_partial
from dispatch_core.frontends import materialize, to_data
from dispatch_core.runtime import find_interface

from ...history.grad_mode import no_grad
from ...serialization.entry import save as save_file
from ...tensors.tensor import Tensor, frontend
from ..device_mesh import has_devices
from .default_planner import DefaultSavePlanner
from .planner import check_planner
from .storage import INDEX, VALUES, Processes, find_folder, find_processes, flatten, is_stateful

__all__ = ["async_save", "save"]


def save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_writer: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> None:
    """Write a checkpoint to the folder ``checkpoint_id``; all processes call this (source: torch's function of that name).

    ``state_dict`` has tensors, values and objects with ``state_dict()``, in nested dictionaries and lists. Of a tensor on a
    mesh each process writes its own part, of another one process 0 writes the whole; values are those of process 0. The
    folder must be one that all processes see. A checkpoint that was there is replaced when all of the new one is written.

    Raises ``CheckpointException`` where no folder is named.
    """
    check_planner("save", planner, DefaultSavePlanner)
    folder = find_folder("save", checkpoint_id, storage_writer)
    _write(*_collect(state_dict, process_group, no_dist), folder)


def async_save(state_dict: dict[str, Any], **options: Any) -> Future[None]:
    """Write a checkpoint as `save` does, from copies, while the program goes on; return the ``Future`` of it.

    With several processes it is written before this returns, since they wait for each other.
    """
    folder = find_folder("async_save", options.get("checkpoint_id"), options.get("storage_writer"))
    parts, values, processes = _collect(state_dict, options.get("process_group"), options.get("no_dist", False))
    made: Future[None] = Future()
    copies = {path: (whole, [(start, each.clone()) for start, each in own]) for path, (whole, own) in parts.items()}

    def run() -> None:
        try:
            _write(copies, values, processes, folder)
            made.set_result(None)
        except BaseException as error:  # noqa: BLE001  # the program asks the future for it
            made.set_exception(error)

    if processes.total > 1:
        run()
    else:
        Thread(target=run, name="checkpoint").start()
    return made


def _collect(state: dict[str, Any], group: Any, is_alone: bool) -> tuple[dict[str, Any], dict[str, Any], Processes]:
    """Return the parts of tensors that this process writes, by path with their tensor, the values, and the processes."""
    whole = {key: value.state_dict() if is_stateful(value) else value for key, value in state.items()}
    leaves = {path: value for path, value, _, _ in flatten(whole)}
    tensors = {path: value for path, value in leaves.items() if isinstance(value, Tensor)}
    processes = Processes(0, 1, None, None) if is_alone else find_processes(tensors.values(), group)
    with no_grad():
        parts = {path: (each, [*_parts(each, processes)]) for path, each in tensors.items()}
    return parts, {path: value for path, value in leaves.items() if path not in tensors}, processes


def _parts(tensor: Tensor, processes: Processes) -> Iterator[tuple[tuple[int, ...], Tensor]]:
    """Yield the parts of a tensor that this process writes, on the host, with their offsets."""
    known = placement_of(tensor)
    if known is None:
        if processes.number == 0:
            yield (0,) * tensor.ndim, tensor.detach().cpu()
        return
    mesh, placements = known
    if has_devices(mesh.device_type):
        for start, array in find_interface(mesh.device_type).placements.parts(to_data(materialize(tensor))):
            yield start, frontend.wrap(array).cpu()
        return
    part = tensor.detach().redistribute(mesh, without_partial(placements))  # type: ignore[attr-defined]
    spec = part._dispatch_data.spec
    is_first = not any(at for at, each in zip(spec.coordinate, spec.placements, strict=True) if not each.is_shard())
    if is_first and all(spec.local_size):
        yield tuple(start for start, _ in spec.parts), part.to_local().cpu()


def _write(parts: dict[str, Any], values: dict[str, Any], processes: Processes, folder: Path) -> None:
    beside = folder.with_name(f".{folder.name}.writing")
    if processes.number == 0:
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir(parents=True)
    processes.meet("checkpoint: the folder is there")
    name, entries, index = f"part-{processes.number}", {}, {}
    for path, (tensor, own) in parts.items():
        listed = []
        for start, each in own:
            key = path if len(own) == 1 else f"{path}@{','.join(map(str, start))}"
            entries[key] = each.contiguous()
            listed.append({"file": f"{name}.safetensors", "entry": key, "start": start, "shape": tuple(each.shape)})
        index[path] = {"shape": tuple(tensor.shape), "dtype": str(tensor.dtype).rpartition(".")[2], "parts": listed}
    save_file(entries, beside / f"{name}.safetensors", format="safetensors")
    (beside / f"{name}.json").write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")
    if processes.number == 0:
        save_file(values, beside / VALUES)
    processes.meet("checkpoint: all parts are written")
    if processes.number == 0:
        (beside / INDEX).write_text(json.dumps({"version": 1, "processes": processes.total}) + "\n", encoding="utf-8")
        _replace(beside, folder)
    processes.meet("checkpoint: the folder is in place")


def _replace(beside: Path, folder: Path) -> None:
    """Put a folder in the place of another one."""
    older = folder.with_name(f".{folder.name}.older")
    shutil.rmtree(older, ignore_errors=True)
    if folder.exists():
        folder.replace(older)
    beside.replace(folder)
    shutil.rmtree(older, ignore_errors=True)
