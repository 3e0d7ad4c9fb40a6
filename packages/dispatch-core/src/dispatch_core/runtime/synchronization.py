"""Waiting for devices: ``dispatch_core.synchronize``."""

from __future__ import annotations

from typing import Any

from ..arrays.late_arrays import COMPUTED_FOR, waiting
from ..arrays.launches import LOGS
from ..arrays.owners import DEVICE_KEYS, device_key
from ..devices import Device
from ..discovery import loader
from ..pipelines import before_read, open_session
from ..tracebacks import api_boundary
from .guards import find_interface, resolve


@api_boundary
def synchronize(device: str | Device | None = None) -> None:
    """Run the recorded steps of the open pipeline, compute every living result, and wait until that is done.

    ``device`` is the one to wait for, or all of its type where it has no index; None means all that are loaded. A device
    that computes at once has nothing to wait for. Raises the error of a step that failed, and a device's own.

    >>> synchronize()
    """
    place = None if device is None else Device.parse(device)
    wanted = None if place is None else place.type
    if wanted is not None:
        device_key(wanted)
    session = open_session()
    if session is not None:
        session.flush()
    before_read()
    for reader, arrays in waiting():
        if wanted in (None, reader.device):
            reader.compute(arrays)
    for name in [wanted] if wanted is not None else list(DEVICE_KEYS):
        index = None if place is None else place.index
        loader().synchronize(name, index)
        raise_reported(name, index=index)


def raise_reported(device: str, stream: object = None, *, index: int | None = None, partly: bool = False) -> None:
    """Raise an error that a device has reported, of one stream that was waited for, or where it is None of an index or any.

    ``partly``: the stream has work that was not waited for.
    """
    log = LOGS.get(device)
    if log is not None:
        log.raise_reported(stream, everywhere=stream is None, index=index, partly=partly)


@api_boundary
def reset_device(device: str | Device | int | None = None) -> None:
    """Make a device usable again that cannot go on, by the part ``reset`` of its interface; by default the accelerator.

    Tensors on it are lost. Raises ``BackendError`` for a device whose backend cannot do so.

    >>> import dispatch_core as dc
    >>> with dc.register_backend(dc.BackendInfo("plain"), {}):
    ...     reset_device("plain")
    Traceback (most recent call last):
    dispatch_core.errors.BackendError: Backend plain doesn't support a reset
    Hint: the DeviceInterface of its plugin has no part 'reset'
    """
    place = resolve(device)
    interface, index = find_interface(place.type), place.index or 0
    interface.require(place.type, "reset")
    reset: Any = interface.reset
    reset(index)
    log = LOGS.get(place.type)
    if log is not None:
        log.restart(index)


def computed_for_sizes() -> dict[str, int]:
    """Return how many arrays were computed because an operator needed their sizes, by operator.

    Reads outside of operators, of a tensor's ``shape`` for instance, stand under ``shape``.

    >>> sum(computed_for_sizes().values()) >= 0
    True
    """
    return dict(COMPUTED_FOR.most_common())
