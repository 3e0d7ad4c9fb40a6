"""Arrays that are made on the host and copied, for devices without a kernel: sequences, random numbers, special functions.

Random numbers come from a stream of the device's own generator, which the cpu backend draws from.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten, is_array, overload
from dispatch_aten.generator import Generator, find_source, host_stream
from dispatch_aten.generator import HostStream as _HostStream  # noqa: F401  # by this path in pickles of 0.1
from dispatch_aten.placing import place_like
from dispatch_core.frontends import to_data

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_HOST: Final = dc.Device("cpu")


def from_host(name: str, device: Any, make: Callable[[dc.Device], Array]) -> Array:
    """Return the raw array that ``make`` makes on the cpu, copied to ``device``.

    Raises ``NoKernelError`` naming the operator where that device is the cpu itself.
    """
    target = _HOST if device is None else dc.Device.parse(device)
    if target.type == _HOST.type:
        raise dc.NoKernelError(f"aten::{name}: no kernel for device {target}, where others would have it made")
    return dc.ops.prims.device_put(dc.ops.prims.device_get(make(_HOST)), device=target)


def compute_on_host(name: str) -> Callable[..., Any]:
    """Make the kernel of an operator that the cpu computes, for devices without a function for it."""
    on_host = dc.host_kernel(f"aten::{name}")

    def kernel(*args: Any) -> Any:
        first = next(value for value in args if is_array(value))
        device = dc.device(first)
        if device.type == _HOST.type:
            raise dc.NoKernelError(f"aten::{name}: no kernel for device {device}, where others would have it computed")
        found = on_host(*(to_data(value) if is_array(value) else value for value in args))
        if isinstance(found, tuple):
            return tuple(dc.wrap_like(first, each) for each in found)
        return dc.wrap_like(first, found)

    return dc.KernelTraits(on_host=True)(kernel)


def _bring(array: Array, device: dc.Device) -> Array:
    return dc.ops.prims.device_put(dc.ops.prims.device_get(array), device=device)


@contextmanager
def _hold_stream(device: dc.Device, generator: Generator | None) -> Iterator[Generator]:
    """Hold a device's generator, and yield the host's one that draws for it."""
    source = find_source(device, generator)
    with source.lock:
        yield host_stream(source)


def draw_on_host(name: str, self: Array, args: tuple[Any, ...], generator: Generator | None) -> Array:
    """Return the numbers that the in-place operator ``name`` draws for ``self``, as a new array on its device."""
    operator, device = overload(name), dc.device(self)

    def draw(host: dc.Device) -> Array:
        with _hold_stream(device, generator) as stream:
            fresh = aten.empty.memory_format(dc.shape(self), dtype=dc.dtype(self), device=host)
            return operator(fresh, *args, generator=stream)

    return place_like(dc.wrap_like(self, from_host(name, device, draw)), self)


def sample_on_host(name: str) -> Callable[..., Any]:
    """Make the kernel of an operator that draws one number for each of its arguments' elements, where the device cannot."""

    def kernel(*args: Any, generator: Generator | None = None) -> Array:
        tensors = [value for value in args if is_array(value)]
        # A generator may stand last, too.
        source = next((value for value in args if isinstance(value, Generator)), generator)
        device = dc.device(tensors[0])

        def draw(host: dc.Device) -> Array:
            with _hold_stream(device, source) as stream:
                return overload(name)(*(_bring(each, host) for each in tensors), generator=stream)

        return dc.wrap_like(tensors[0], from_host(name, device, draw))

    return kernel
