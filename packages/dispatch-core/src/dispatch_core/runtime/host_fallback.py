"""Operators that the host computes for a device without a kernel for them (source: ``at::native::cpu_fallback``).

The cpu backend's kernel runs on copies of the arrays, which have their strides; the results are copied to the device, and
laid out as the cpu's, which the shape rule says. A write is repeated on the device.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..arrays import access
from ..arrays.owners import ARRAY_TYPES, KEY_DEVICES, TYPE_MASKS, device_key, is_tensor
from ..arrays.types import Array
from ..calls.traits import KernelTraits
from ..devices import Device
from ..errors import NoKernelError
from ..keys.table import ARRAYS, keys_of
from ..schema.check import bind
from ..tracebacks import warn_caller

if TYPE_CHECKING:
    from ..operators.overloads import OpOverload
    from ..operators.registries import Registry

__all__ = ["computed_on_host", "host_kernel", "run_on_host"]

_HOST: Final = Device("cpu")
_counts: Final[Counter[tuple[str, str]]] = Counter()


def computed_on_host(device: str) -> dict[str, int]:
    """Return how often the host has computed operators for a device that has no kernel for them, by operator.

    >>> computed_on_host("cpu")
    {}
    """
    return {name: count for (where, name), count in _counts.most_common() if where == device}


def host_kernel(operator: str) -> Callable[..., Any]:
    """Return a kernel of a device, for one operator with its overload, that has the host compute it.

    A backend registers it as any kernel; ``BackendInfo(fallback=...)`` does so for many.

    >>> host_kernel("aten::_fft_c2c").__name__
    '_fft_c2c_on_host'
    """
    from ..operators.registries import registry

    namespace, _, name = operator.rpartition("::")
    packet, _, overload = name.partition(".")

    def kernel(*args: object, **kwargs: object) -> object:
        found = getattr(getattr(getattr(registry.ops, namespace or "aten"), packet), overload or "default")
        return run_on_host(found, *args, **kwargs)

    kernel.__name__ = kernel.__qualname__ = f"{packet}_on_host"
    return KernelTraits(on_host=True)(kernel)


@KernelTraits(on_host=True)
def run_on_host(op: OpOverload, /, *args: object, **kwargs: object) -> object:
    """Run an operator's kernel of the cpu on copies of a device's arrays (a boxed kernel, for a device's fallback).

    The first call of each operator warns. One that draws numbers takes them from the device's generator, as its composite
    does. Raises ``NoKernelError`` where the host has no kernel, and for an operator that returns a view of an array that can
    be written to, which no copy is; and whatever the cpu's kernel raises, with a note that names the device.
    """
    signature = op._entry.signature
    assert signature is not None
    values: tuple[Any, ...] = bind(signature.schema, args, kwargs, is_tensor)
    arrays = [array for _, array in signature.tensors(values)]
    device = _find_device(arrays, values[signature.device_index] if signature.device_index is not None else None)
    if any(each.type.startswith("Generator") for each in signature.parameters):
        return _draw(op, device, values)
    if any(each.kind == "view" and access.is_mutable(arrays[0]) for each in signature.results):
        raise NoKernelError(
            f"{op.name}: no kernel for the device {device.type!r}, and the host cannot compute a view of its arrays"
        )
    copies: dict[int, Array] = {}
    given = list(signature.map_tensors(lambda array: _to_host(array, copies), values))
    if signature.device_index is not None:
        given[signature.device_index] = _HOST
    positional, named = signature.split(tuple(given))
    try:
        found = op(*positional, **named)
    except NoKernelError as error:
        raise NoKernelError(f"{op.name}: neither the device {device.type!r} nor the host has a kernel") from error
    except Exception as error:
        error.add_note(f"raised by the host, which computes {op.name} for the device {device.type!r}")
        raise
    _count(device.type, op.name)
    for index, array in signature.tensors(values):
        if signature.parameters[index].writes:
            _ops().aten.copy_(array, _move(copies[id(array)], device))
    results = []
    for result, made in zip(signature.results, signature.unpack(found), strict=True):
        if result.kind == "self":
            results.append(values[result.source])
        elif result.is_list:
            results.append([_to_device(each, device) for each in made])
        else:
            results.append(_to_device(made, device))
    return signature.pack(results)


def _draw(op: OpOverload, device: Device, values: Sequence[object]) -> object:
    """Run the composite of an operator that draws numbers: it draws them on the host from the device's generator."""
    from ..operators.kernel_handle import get_kernel

    signature = op._entry.signature
    assert signature is not None
    try:
        composite = get_kernel(op, "CompositeExplicitAutograd")
    except NoKernelError as error:
        raise NoKernelError(
            f"{op.name}: no kernel for the device {device.type!r}, and no composition that draws from its generator"
        ) from error
    positional, named = signature.split(tuple(values))
    found = composite(*positional, **named)
    _count(device.type, op.name)
    return found


def _count(device: str, name: str) -> None:
    _counts[device, name] += 1
    if _counts[device, name] == 1:
        warn_caller(
            f"The operator '{name}' is not currently supported on the {device} backend and will fall back to run on the"
            " cpu. This may have performance implications."
        )


def _find_device(arrays: Sequence[Array], named: Device | None) -> Device:
    """Return the device of a call: that of its first array that is not a number of the cpu's, or the one of a factory."""
    for array in arrays:
        (key,) = keys_of(TYPE_MASKS[type(array)] & ARRAYS)
        name = KEY_DEVICES[key.backend]
        if name != _HOST.type:
            reader = ARRAY_TYPES[type(array)].device_index
            return Device(name, None if reader is None else reader(array))
    return _HOST if named is None else named


def _ops() -> Any:
    from ..operators.registries import registry

    return registry.ops


def _move(array: Array, device: Device) -> Array:
    """Copy an array to a device, in memory of its own; for a composite in a pipeline or a capture the two are recorded."""
    prims = _ops().prims
    return prims.device_put(prims.device_get(array), device=device)


def _to_host(array: Array, copies: dict[int, Array]) -> Array:
    """Return a copy of an array on the cpu, with its strides; the same one for the same array."""
    found = copies.get(id(array))
    if found is None:
        found = copies[id(array)] = _with_strides(_move(array, _HOST), array)
    return found


def _with_strides(values: Array, array: Array) -> Array:
    """Return values on the cpu with the strides of an array, row by row for one that has none."""
    shape = access.shape(values)
    strides = access.strides(array) if access.has_strides(array) else access.row_major_strides(shape)
    if strides == access.strides(values):
        return values
    aten = _ops().aten
    # Where strides are 0 the elements of a dimension are one.
    is_empty = 0 in shape
    single = [1 if stride == 0 and not is_empty else size for size, stride in zip(shape, strides, strict=True)]
    made = aten.empty_strided(single, list(strides), dtype=access.dtype(values), device=_HOST)
    for dim, (size, one) in enumerate(zip(shape, single, strict=True)):
        if size != one:
            values = aten.slice(values, dim, 0, 1)
    aten.copy_(made, values)
    return aten.as_strided(made, list(shape), list(strides))


def _to_device(value: Array, device: Device) -> Array:
    """Return a copy on the device of a result of the cpu's, laid out like it; a number as it is."""
    if type(value) not in ARRAY_TYPES:
        return value
    made = _move(value, device)
    wanted = access.strides(value)
    if access.strides(made) == wanted or not access.has_strides(made):
        return made
    laid_out = _ops().aten.empty_strided(
        list(access.shape(value)), list(wanted), dtype=access.dtype(value), device=device
    )
    return _ops().aten.copy_(laid_out, made)


def register_fallback(registry: Registry, device: str, fallback: str | tuple[str, ...]) -> None:
    """Register the host's kernels under a device's key, for all operators or for those that are named."""
    from ..operators.library import Library

    key = device_key(device)
    if fallback == "host":
        Library("_", "IMPL", registry=registry).fallback(run_on_host, key)
        return
    for name in fallback:
        namespace, _, rest = name.rpartition("::")
        Library(namespace or "aten", "IMPL", key, registry=registry).impl(rest, host_kernel(name))
