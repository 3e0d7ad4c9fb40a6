"""Arrays of JAX over several devices: XLA moves their parts, and puts collectives into programs (source: ``jax.sharding``).

Note [Placements by XLA]
    A mesh of numbers of devices is a ``jax.sharding.Mesh`` with Auto axes, placements are a ``NamedSharding``: ``Shard``
    along a dimension of the mesh names its axis at a dimension of the array, ``Replicate`` names it nowhere. A part of a
    mesh is the whole mesh, with nothing along the other axes. JAX has no array whose parts are to be summed, so ``Partial``
    is refused.

    An array that a program has placed itself, by another kind of sharding or with several axes in another order, keeps it;
    its placements tell what torch's words can tell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from dispatch_aten.placements import DeviceMesh, PlacementError, Replicate, Shard

__all__ = [
    "KERNELS",
    "check",
    "count",
    "fill",
    "find",
    "from_local",
    "meet",
    "parts",
    "place",
    "process",
    "sharding_of",
    "sum_processes",
    "to_local",
    "whole_size",
]

_NAME: Final = "jax"


def count() -> int:
    """Return the number of devices, of all processes."""
    return len(jax.devices())


def process() -> tuple[int, int]:
    """Return the number of this process, and how many there are."""
    return jax.process_index(), jax.process_count()


def meet(name: str) -> None:
    """Wait until all processes have come here."""
    if jax.process_count() > 1:
        multihost_utils.sync_global_devices(name)


def parts(array: Any) -> list[tuple[tuple[int, ...], Any]]:
    """Return the offsets and arrays of the parts that this process writes: of equal ones, the first."""
    return [
        (tuple(start for start, _ in _box(shard.index, array.shape)), shard.data)
        for shard in array.addressable_shards
        if shard.replica_id == 0
    ]


def fill(
    mesh: DeviceMesh,
    placements: Sequence[Any],
    shape: Sequence[int],
    read: Callable[[tuple[int, ...], tuple[int, ...]], Any],
) -> Any:
    """Return an array that lies so, of the numbers that ``read(offsets, shape)`` gives for each part of this process."""
    made: list[Any] = []
    sharding, size = sharding_of(mesh, placements, shape), tuple(shape)
    with jax.enable_x64(True):
        by_box: dict[Any, list[Any]] = {}
        for device, index in sharding.addressable_devices_indices_map(size).items():
            by_box.setdefault(_box(index, size), []).append(device)
        for box, devices in by_box.items():
            part = read(tuple(start for start, _ in box), tuple(end - start for start, end in box))
            # Devices of a CPU go on using the memory of the part, which nothing writes to.
            made += [jax.device_put(part, each) for each in devices]
            jax.block_until_ready(made)
        return jax.make_array_from_single_device_arrays(size, sharding, made)


def check(mesh: DeviceMesh) -> None:
    """Raise ``PlacementError`` for a mesh of devices that there are not."""
    if (most := int(mesh.root_ranks.max())) >= count():
        raise PlacementError(
            f"{mesh.root} has device {most}, and there are {count()} of jax",
            hint="XLA_FLAGS=--xla_force_host_platform_device_count=8, set before jax is imported, makes 8 of a CPU",
        )


@cache
def _mesh_of(mesh: DeviceMesh) -> Mesh:
    """Return JAX's mesh of the root of a mesh."""
    check(mesh)
    devices = jax.devices()
    names = mesh.root_names or _number_axes(mesh.root_ranks.ndim)
    chosen = np.array([devices[rank] for rank in mesh.root_ranks.flat], dtype=object).reshape(mesh.root_ranks.shape)
    return Mesh(chosen, names, axis_types=(AxisType.Auto,) * len(names))


def _number_axes(ndim: int) -> tuple[str, ...]:
    """Return the names of JAX's axes for a mesh without names."""
    return tuple(f"dim{index}" for index in range(ndim))


def sharding_of(mesh: DeviceMesh, placements: Sequence[Any], shape: Sequence[int]) -> NamedSharding:
    """Return the sharding for placements of an array of a shape; see Note [Placements by XLA].

    Raises ``PlacementError`` for `Partial`, and where the devices do not divide a dimension that is cut.
    """
    found = _mesh_of(mesh)
    axes: list[list[str]] = [[] for _ in shape]
    for dim, placement in zip(mesh.dims, placements, strict=True):
        if isinstance(placement, Shard):
            axes[placement.dim].append(found.axis_names[dim])
        elif not isinstance(placement, Replicate):
            raise PlacementError(
                f"{placement!r} on {mesh}: arrays of jax have no parts that are to be combined",
                hint="sum them first: from_local(x, mesh, [Partial()]) does",
            )
    for dim, names in enumerate(axes):
        parts = prod(found.shape[name] for name in names)
        if shape[dim] % parts:
            raise PlacementError(
                f"dimension {dim} of size {shape[dim]} cannot be cut in {parts} equal parts for {mesh}",
                hint="replicate it, or choose another dimension",
            )
    return NamedSharding(found, PartitionSpec(*(tuple(names) or None for names in axes)))


def find(array: Any) -> tuple[DeviceMesh, tuple[Any, ...]] | None:
    """Return the mesh and the placements of an array; None for one on one device, and for one that JAX follows."""
    if isinstance(array, jax.core.Tracer):
        return None
    sharding = array.sharding
    if not isinstance(sharding, NamedSharding):
        return None
    return _read(sharding)


@cache
def _read(sharding: NamedSharding) -> tuple[DeviceMesh, tuple[Any, ...]] | None:
    mesh = sharding.mesh
    if mesh.empty:
        return None
    numbers = {device: index for index, device in enumerate(jax.devices())}
    ranks = np.vectorize(numbers.__getitem__, otypes=[np.int64])(mesh.devices)
    cut: dict[str, int] = {}
    for dim, names in enumerate(sharding.spec):
        for name in (names,) if isinstance(names, str) else names or ():
            cut[name] = dim
    placements = [Shard(cut[name]) if name in cut else Replicate() for name in mesh.axis_names]
    names = None if mesh.axis_names == _number_axes(ranks.ndim) else mesh.axis_names
    return DeviceMesh(_NAME, ranks, mesh_dim_names=names), tuple(placements)


def place(array: Any, mesh: DeviceMesh, placements: Sequence[Any]) -> Any:
    """Return an array with the same numbers that lies so; inside a program a constraint."""
    sharding = sharding_of(mesh, placements, array.shape)
    if isinstance(array, jax.core.Tracer):
        return jax.lax.with_sharding_constraint(array, sharding)
    return jax.device_put(array, sharding)


def to_local(array: Any) -> Any:
    """Return what this process's devices hold, as an array on the first of them; one that JAX follows stays as it is.

    Raises ``PlacementError`` where that is no box: the devices of a process hold parts that do not lie side by side.
    """
    if isinstance(array, jax.core.Tracer):
        return array
    # Of equal parts the first one stays.
    parts = {_box(shard.index, array.shape): shard.data for shard in reversed(array.addressable_shards)}
    starts = tuple(min(box[dim][0] for box in parts) for dim in range(array.ndim))
    ends = tuple(max(box[dim][1] for box in parts) for dim in range(array.ndim))
    sizes = tuple(end - start for start, end in zip(starts, ends, strict=True))
    if sum(prod(end - start for start, end in box) for box in parts) != prod(sizes):
        raise PlacementError("to_local: the parts on this process's devices do not lie side by side")
    if len(parts) == 1:
        (only,) = parts.values()
        return only
    made = np.empty(sizes, array.dtype)
    for box, data in parts.items():
        made[tuple(slice(a - start, b - start) for (a, b), start in zip(box, starts, strict=True))] = data
    return jax.device_put(made, array.addressable_shards[0].device)


def _box(index: Sequence[slice], shape: Sequence[int]) -> tuple[tuple[int, int], ...]:
    return tuple(
        (part.start or 0, size if part.stop is None else part.stop) for part, size in zip(index, shape, strict=True)
    )


def whole_size(mesh: DeviceMesh, placements: Sequence[Any], shape: Sequence[int]) -> list[int]:
    """Return the size of the whole of which each process has an equal part of a shape."""
    check(mesh)
    devices = jax.devices()
    owners = np.vectorize(lambda rank: devices[rank].process_index)(mesh.root_ranks)
    size = list(shape)
    for dim, placement in zip(mesh.dims, placements, strict=True):
        if isinstance(placement, Shard):
            line = np.moveaxis(owners, dim, 0).reshape(owners.shape[dim], -1)[:, 0]
            size[placement.dim] *= len(np.unique(line))
    return size


def sum_processes(array: Any, mesh: DeviceMesh, reduction: str) -> Any:
    """Return the arrays of all processes combined, in each."""
    if jax.process_count() == 1:
        return array
    found = multihost_utils.process_allgather(array)
    combine = {"sum": found.sum, "avg": found.mean, "max": found.max, "min": found.min, "product": found.prod}[
        reduction
    ]
    return jax.device_put(np.asarray(combine(0), array.dtype))


def from_local(
    array: Any, mesh: DeviceMesh, placements: Sequence[Any], shape: Sequence[int], grad_placements: Any = None
) -> Any:
    """Return the array of which each process gives the parts on its devices."""
    sharding = sharding_of(mesh, placements, shape)
    if jax.process_count() == 1:
        return jax.device_put(array, sharding)
    return jax.make_array_from_process_local_data(sharding, np.asarray(array), tuple(shape))


def _fresh(function: Callable[..., Any]) -> Callable[[Any], Callable[..., Any]]:
    """Return what makes the kernel of a function: its result is a new array, also where nothing has to be moved."""

    def run(self: Any, *args: Any) -> Any:
        found = function(self, *args)
        return jnp.copy(found) if found is self else found

    return lambda library: run


#: The kernels of the operators for tensors over several devices.
KERNELS: Final = {
    "dispatch::redistribute": _fresh(place),
    "dispatch::to_local": _fresh(lambda array, grad_placements=None: to_local(array)),
    "dispatch::from_local": _fresh(from_local),
}
