"""Operators that the host computes for a device without a kernel for them (source: ``at::native::cpu_fallback``).

The cpu backend's kernel runs on copies of the arrays, which have their strides; the results are copied to the device, and
laid out as the cpu's, which the shape rule says. A write is repeated on the device.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..arrays import access
from ..arrays.owners import ARRAY_TYPES, KEY_DEVICES, TYPE_MASKS, device_key
from ..calls.traits import KernelTraits
from ..devices import Device
from ..errors import NoKernelError
from ..keys.table import ARRAYS, keys_of
from ..tracebacks import warn_caller

if TYPE_CHECKING:
    from ..operators.overloads import OpOverload

__all__ = ["computed_on_host", "host_kernel", "run_on_host"]

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

    def kernel(*args: Any, **kwargs: Any) -> Any:
        found = getattr(getattr(getattr(registry.ops, namespace or "aten"), packet), overload or "default")
        return run_on_host(found, *args, **kwargs)

    kernel.__name__ = kernel.__qualname__ = f"{packet}_on_host"
    return KernelTraits(on_host=True)(kernel)


@KernelTraits(on_host=True)
def run_on_host(op: OpOverload, /, *args: Any, **kwargs: Any) -> Any:
    """Run an operator's kernel of the cpu on copies of a device's arrays (a boxed kernel, for a device's fallback).

    The first call of each operator warns. Raises ``NoKernelError`` for an operator that returns a view, which no copy is,
    and whatever the cpu's kernel raises.
    """
    signature = op._entry.signature
    assert signature is not None
    values = [*args, *(kwargs[each.name] for each in signature.parameters[len(args) :])]
    if any(result.kind == "view" for result in signature.results):
        raise NoKernelError(f"{op.name}: the host cannot compute a view of a device's array")
    arrays = [array for _, array in signature.tensors(values) if type(array) in ARRAY_TYPES]
    device = _find_device(arrays, values[signature.device_index] if signature.device_index is not None else None)
    _count(device.type, op.name)
    copies: dict[int, Any] = {}
    given = list(signature.map_tensors(lambda array: _to_host(array, copies), tuple(values)))
    if signature.device_index is not None:
        given[signature.device_index] = Device("cpu")
    positional, named = signature.split(tuple(given))
    found = op(*positional, **named)
    for index in signature.writes:
        for array in values[index] if isinstance(values[index], (list, tuple)) else (values[index],):
            if array is not None:
                _write(array, copies[id(array)], device)
    results = []
    for result, made in zip(signature.results, signature.unpack(found), strict=True):
        if result.kind == "self":
            results.append(values[result.source])
        elif result.is_list:
            results.append([_to_device(each, device) for each in made])
        else:
            results.append(_to_device(made, device))
    return signature.pack(results)


def _count(device: str, name: str) -> None:
    _counts[device, name] += 1
    if _counts[device, name] == 1:
        warn_caller(
            f"The operator '{name}' is not currently supported on the {device} backend and will fall back to run on the"
            " cpu. This may have performance implications."
        )


def _find_device(arrays: Sequence[Any], named: Device | None) -> Device:
    """Return the device of a call: that of its first array, or the one that a factory names."""
    if not arrays:
        assert named is not None
        return named
    (key,) = keys_of(TYPE_MASKS[type(arrays[0])] & ARRAYS)
    reader = ARRAY_TYPES[type(arrays[0])].device_index
    return Device(KEY_DEVICES[key.backend], None if reader is None else reader(arrays[0]))


def _ops() -> Any:
    from ..operators.registries import registry

    return registry.ops


def _to_host(array: Any, copies: dict[int, Any]) -> Any:
    """Return a copy of an array on the cpu, with its strides; the same one for the same array."""
    if type(array) not in ARRAY_TYPES:
        return array
    found = copies.get(id(array))
    if found is None:
        found = copies[id(array)] = _with_strides(_ops().prims.device_get(array), array)
    return found


def _with_strides(values: Any, array: Any) -> Any:
    shape, strides = access.shape(array), access.strides(array)
    if strides == access.strides(values) or 0 in shape:
        return values
    # Where strides are 0 the elements of a dimension are one.
    single = [1 if stride == 0 else size for size, stride in zip(shape, strides, strict=True)]
    aten = _ops().aten
    made = aten.empty_strided(single, list(strides), dtype=access.dtype(array), device=Device("cpu"))
    for dim, (size, one) in enumerate(zip(shape, single, strict=True)):
        if size != one:
            values = aten.slice(values, dim, 0, 1)
    aten.copy_(made, values)
    return aten.as_strided(made, list(shape), list(strides))


def _to_device(value: Any, device: Device) -> Any:
    """Return a copy on the device of a result of the cpu's, laid out like it; a number as it is."""
    if type(value) not in ARRAY_TYPES:
        return value
    made = _ops().prims.device_put(value, device=device)
    wanted = access.strides(value)
    if access.strides(made) == wanted or not access.has_strides(made):
        return made
    laid_out = _ops().aten.empty_strided(
        list(access.shape(value)), list(wanted), dtype=access.dtype(value), device=device
    )
    return _ops().aten.copy_(laid_out, made)


def _write(array: Any, copy: Any, device: Device) -> None:
    _ops().aten.copy_(array, _ops().prims.device_put(copy, device=device))


def register_fallback(registry: Any, device: str, fallback: str | tuple[str, ...]) -> None:
    """Register the host's kernels under a device's key, for all operators or for those that are named."""
    from ..operators.library import Library

    key = device_key(device)
    if fallback == "host":
        Library("_", "IMPL", registry=registry).fallback(run_on_host, key)
        return
    for name in fallback:
        namespace, _, rest = name.rpartition("::")
        Library(namespace or "aten", "IMPL", key, registry=registry).impl(rest, host_kernel(name))
