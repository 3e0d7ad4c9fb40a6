"""Where arrays of JAX lie: those that take the place of another one, or are made like it, lie as that does.

Note [Places]
    An array has a place where a program has chosen it: it lies on one device (``jax:1``), or on several (a
    ``NamedSharding``). An array that the default device makes has none, and meets those of any place; JAX calls it not
    committed. XLA chooses where the results of an operator lie. The array that is written to a tensor, and one that is made
    like it, are laid as the tensor lies: eagerly by ``device_put``, and in a program by a constraint.

    A tracer tells no place. While a planner's function is followed the places of the arrays that it is given are noted for
    their tracers, and so are those of arrays laid like them. The function is another one for other places.

Note [Home]
    The tensor that no program has placed stays so, too, when it is written: what comes from a mesh is gathered on the
    default device, as an array that has no place. XLA makes no such results of a program that works on a mesh. There the
    written value is replicated, and noted as one that comes home when the program has run.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, wraps
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

import dispatch_core as dc
from dispatch_aten.placements import PlacementError

from . import jax_meshes, jax_ranks

#: Factories, which take a device.
FACTORIES: Final = ("full", "empty.memory_format", "prims::device_put")
#: Operators whose result lies as their first array, where it has its shape.
LIKE: Final = ("fill.Scalar", "copy", "clone", "empty_like", "new_empty", "new_empty_strided", "new_full")
_APART: Final = re.compile("incompatible devices|different devices|device assignment", re.IGNORECASE)


#: The place, in a program, of what has none; see Note [Home].
HOME: Final = "home"


class _Following(threading.local):
    #: id → the tracer and its place, while a program is followed.
    known: dict[int, tuple[Any, Any]] | None = None
    #: The mesh that the program works on.
    mesh: Mesh | None = None
    #: Whether some of its arrays have places.
    has_others: bool = False
    #: The number of the device that the program is for, where one was named.
    index: int | None = None


_following: Final = _Following()


def place_of(array: Any) -> Any:
    """Return the sharding that a program has chosen for an array; None for one that has no place of its own."""
    if isinstance(array, jax.core.Tracer):
        return None if (found := _noted_place(array)) is HOME else found
    return array.sharding if array.committed else None


def _noted_place(tracer: Any) -> Any:
    found = None if _following.known is None else _following.known.get(id(tracer))
    return None if found is None else found[1]


@contextmanager
def following(tracers: Sequence[Any], places: Sequence[Any], index: int | None) -> Iterator[None]:
    """Note the places of a program's arrays, and the number of its device, while it is followed."""
    before = _following.known, _following.index, _following.mesh, _following.has_others
    _following.has_others = any(each is not None and each is not HOME for each in places)
    _following.mesh = next((each.mesh for each in places if isinstance(each, NamedSharding)), None)
    pairs = zip(tracers, places, strict=True)
    _following.known = {id(each): (each, place) for each, place in pairs if place is not None}
    _following.index = index
    try:
        yield
    finally:
        _following.known, _following.index, _following.mesh, _following.has_others = before


def find_homes(tracers: Sequence[Any]) -> list[int]:
    """Return the numbers of a program's results that come home when it has run."""
    return [number for number, each in enumerate(tracers) if _noted_place(each) is HOME]


def bring_home(array: Any) -> Any:
    """Return an array with the same numbers as the default device makes it, without a place; see Note [Home]."""
    if not array.committed:
        return array
    place, home = array.sharding, _default_device()
    if len(place.device_set) > 1:
        if not array.is_fully_replicated:
            array = jax.device_put(array, NamedSharding(_mesh_over(place), PartitionSpec()))
        shards = {each.device: each.data for each in array.addressable_shards}
        array = shards.get(home, next(iter(shards.values())))
    array = jax.device_put(array, home)
    try:
        return type(array)(array.aval, array.sharding, [array], committed=False)
    except TypeError:  # the class of JAX's arrays is not meant to be called
        return jax.device_put(np.asarray(array))


def _mesh_over(place: Any) -> Mesh:
    """Return the mesh of a sharding; one of its devices in a row where it has none."""
    if isinstance(place, NamedSharding):
        found: Mesh = place.mesh
        return found
    devices = np.array(place._device_assignment, dtype=object)  # their order is told by nothing else
    return Mesh(devices, ("all",), axis_types=(AxisType.Auto,))


def _default_device() -> Any:
    """Return the device on which JAX makes arrays."""
    found = jax.config.jax_default_device
    return jax.local_devices()[0] if found is None else found


def commit(arrays: Sequence[Any], index: int) -> list[Any]:
    """Return arrays on a device, those that were laid somewhere as they are."""
    device = jax.local_devices()[index]
    return [each if each.committed else jax.device_put(each, device) for each in arrays]


def place_like(array: Any, like: Any) -> Any:
    """Return an array with the same numbers that lies as another does, if they have one shape; see Note [Places]."""
    if isinstance(array, jax.core.Tracer):
        return _note_like(array, like)
    if (place := place_of(like)) is None:
        return array if isinstance(like, jax.core.Tracer) else bring_home(array)
    if array.shape != like.shape:
        return array
    if array.committed and (array.sharding is place or array.sharding.is_equivalent_to(place, array.ndim)):
        return array
    return jax.device_put(array, place)


def _note_like(array: Any, like: Any) -> Any:
    """Return a tracer that will lie as another does, and note that."""
    known, mesh, place = _following.known, _following.mesh, _noted_place(like)
    if place is None or known is None or array.shape != like.shape:
        return array
    if place is HOME and not _following.has_others:
        return array
    if place is HOME:
        whole = None if mesh is None else NamedSharding(mesh, PartitionSpec())
        array = jnp.copy(array) if whole is None else jax.lax.with_sharding_constraint(array, whole)
    elif isinstance(place, NamedSharding):
        array = jax.lax.with_sharding_constraint(array, place)
    known[id(array)] = array, place
    return array


def keep_place(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Make the kernel of an operator in `LIKE` lay its result as its first array lies, unless a device is named."""

    @wraps(kernel)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        found = kernel(self, *args, **kwargs)
        device = kwargs.get("device")
        if isinstance(device, dc.Device) and (device.type != "jax" or device.index is not None):
            return found
        return place_like(found, self)

    return run


def on_device(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Make a factory's kernel lay its result on the device that is named by its index.

    A program is compiled for one device, which then is its own: another one cannot be named in it.
    """

    @wraps(kernel)
    def run(*args: Any, **kwargs: Any) -> Any:
        device = kwargs.get("device")
        if not isinstance(device, dc.Device) or device.index is None:
            return kernel(*args, **kwargs)
        target = jax.local_devices()[device.index]
        with jax.default_device(target):  # the numbers go there, not by the first device
            found = kernel(*args, **kwargs)
        if isinstance(found, jax.core.Tracer):
            if device.index != _following.index:
                raise PlacementError(f"an array on {device} cannot be made in a program for another device")
            return found
        return jax.device_put(found, target)

    return run


class _ChosenDevice(threading.local):
    #: The number of the device that the thread has chosen.
    index = 0


_chosen: Final = _ChosenDevice()


def current() -> int:
    """Return the number of the device on which the thread makes arrays."""
    return _chosen.index


def exchange(index: int) -> int:
    """Choose another device for the thread, and return the number of the former."""
    before, _chosen.index = _chosen.index, index
    return before


def lies_first(array: Any) -> bool:
    """Return whether an array has values, and no place: the default device has made it."""
    array = getattr(array, "value", array)
    return isinstance(array, jax.Array) and not isinstance(array, jax.core.Tracer) and not array.committed


def index_of(array: Any) -> int | None:
    """Return the number of the device that an array was laid on; None on several, or where none was chosen."""
    place = place_of(array)
    return None if place is None else _index(place)


@cache
def _index(place: Any) -> int | None:
    if len(place.device_set) > 1:
        return None
    (device,) = place.device_set
    return next((index for index, each in enumerate(jax.local_devices()) if each == device), None)


def settle(array: Any) -> Any:
    """Return an array on a mesh with Explicit axes as one on Auto axes, which is no copy."""
    place = array.sharding if isinstance(array, jax.Array) and not isinstance(array, jax.core.Tracer) else None
    # Not by identity: the one that is remembered may be another object that is equal.
    if isinstance(place, NamedSharding) and any(each is not AxisType.Auto for each in place.mesh.axis_types):
        return jax.device_put(array, _with_auto_axes(place))
    return array


@cache
def _with_auto_axes(place: NamedSharding) -> NamedSharding:
    mesh = place.mesh
    axes = (AxisType.Auto,) * len(mesh.axis_names)
    return NamedSharding(Mesh(mesh.devices, mesh.axis_names, axis_types=axes), place.spec)


def explain(name: str, error: Exception, arrays: Iterable[Any]) -> Exception | None:
    """Return an error of ours for one of JAX's about arrays on other devices, or about a rank that is gone, else None."""
    if not _APART.search(str(error)):
        return jax_ranks.explain(name, error)
    places = list(dict.fromkeys(_describe(each) for each in arrays if isinstance(each, jax.Array) and place_of(each)))
    if len(places) < 2:
        return None
    return PlacementError(
        f"{name}: the arrays lie apart: {'; '.join(places)}",
        hint="tensors of one call lie on one device, or on one mesh with the same devices in the same order: move one with"
        ' .to("jax:0") or redistribute',
    )


def _describe(array: Any) -> str:
    if (index := index_of(array)) is not None:
        return f"on jax:{index}"
    found = jax_meshes.find(array)
    if found is None:
        return f"as {array.sharding}"
    mesh, placements = found
    return f"{placements} on {mesh} of devices {mesh.ranks.tolist()}"


def several() -> bool:
    """Return whether there is more than one device."""
    return jax.device_count() > 1


def wrappers() -> dict[str, Callable[[Any], Any]]:
    """Return what kernels are wrapped in, where there is more than one device: operator → function of the kernel."""
    if not several():
        return {}
    return dict.fromkeys(LIKE, keep_place) | dict.fromkeys(FACTORIES, on_device)


def properties(index: int) -> dict[str, Any]:
    """Return a device's name, and its memory in bytes where the platform tells."""
    device = jax.local_devices()[index]
    return {
        "name": device.device_kind,
        "platform": device.platform,
        "total_memory": (device.memory_stats() or {}).get("bytes_limit", 0),
    }
