"""The running context's choices for autocast: on which devices it is on, in which dtypes, and the cache of casts.

A block includes the Autocast key of its device in the context's masks, and one that turns autocast off takes it out:
other calls know nothing of it. The setting, which the kernels read, says in which dtype. Threads start with neither, and
an asyncio task with those of its context.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType, bfloat16, float16
from dispatch_core.devices import read_alias
from dispatch_core.frontends import current_masks, set_masks, with_included, without_included
from dispatch_core.keys import DispatchKey

from ..history.graph_settings import autocast_choices, autocast_nesting, current_nesting
from .cast_cache import CastCache, Nesting
from .device_keys import DEVICES, KEYS

#: The devices that torch has autocast for, by the dtype that each chooses; those that are not here stay without effect.
_TORCHS: Final = {"bfloat16": "cpu hpu xla maia", "float16": "cuda xpu mps mtia ipu privateuseone"}
_DEFAULTS: Final = {
    device: dtype for dtype, name in ((bfloat16, "bfloat16"), (float16, "float16")) for device in _TORCHS[name].split()
}


class Choices(NamedTuple):
    """The choices that captured calls and kernels depend on."""

    #: The devices on which autocast is on, with the dtype of each.
    active: Mapping[str, ScalarType]
    #: The dtypes that were chosen, of devices on which it is off, too.
    dtypes: Mapping[str, ScalarType]
    cache_enabled: bool


NO_CHOICES: Final = Choices({}, {}, cache_enabled=True)


def current_choices() -> Choices:
    """Return the context's choices."""
    return autocast_choices.get() or NO_CHOICES


def is_autocast_available(device_type: str) -> bool:
    """Return whether a device has autocast: every device that is installed, and those of torch (source: ``torch.amp``).

    >>> is_autocast_available("cpu"), is_autocast_available("meta"), is_autocast_available("toaster")
    (True, True, False)

    Raises ``RuntimeError`` for a text that cannot be a device's name.
    """
    if not isinstance(device_type, str):
        raise TypeError(
            f"is_autocast_available(): argument 'device_type' must be str, not {type(device_type).__name__}"
        )
    if device_type in _DEFAULTS:
        return True
    if not device_type.isidentifier():
        raise RuntimeError(f"Invalid device string: '{device_type}'")
    return device_type in dc.backends()


def check_device(device_type: Any, function: str) -> str:
    """Return the name of a device that has autocast; ``TypeError`` or ``RuntimeError`` otherwise."""
    if not isinstance(device_type, str):
        raise TypeError(
            f"{function}(): argument 'device_type' (position 1) must be str, not {type(device_type).__name__}"
        )
    name = read_alias(device_type.partition(":")[0])
    if not is_autocast_available(name):
        known = sorted({*_DEFAULTS, *dc.backends()})
        raise RuntimeError(f"unknown device type for autocast: {device_type!r}\nHint: there are {', '.join(known)}")
    return name


def default_dtype(device: str) -> ScalarType:
    """Return the lower precision that a device has where none was chosen."""
    return _DEFAULTS.get(device, float16)


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Return whether autocast is on for a device (source: ``torch.is_autocast_enabled``)."""
    return check_device(device_type, "is_autocast_enabled") in current_choices().active


def get_autocast_dtype(device_type: str) -> ScalarType:
    """Return the lower precision of a device: bfloat16 on cpu, float16 elsewhere, unless another was chosen."""
    name = check_device(device_type, "get_autocast_dtype")
    return current_choices().dtypes.get(name) or default_dtype(name)


def is_autocast_cache_enabled() -> bool:
    """Return whether casts of leaves are kept (source: ``torch.is_autocast_cache_enabled``)."""
    return current_choices().cache_enabled


def choose(device: str, *, enabled: bool, dtype: ScalarType, cache_enabled: bool) -> Choices:
    """Return the context's choices with others for one device."""
    choices = autocast_choices.get()
    if choices is None:
        return _choose_first(device, enabled, dtype, cache_enabled)
    active, dtypes, _ = choices
    active = {**active, device: dtype} if enabled else {name: each for name, each in active.items() if name != device}
    return Choices(active, {**dtypes, device: dtype}, cache_enabled)


@lru_cache(maxsize=64)
def _choose_first(device: str, enabled: bool, dtype: ScalarType, cache_enabled: bool) -> Choices:
    return Choices({device: dtype} if enabled else {}, {device: dtype}, cache_enabled)


def find_key(device: str) -> DispatchKey | None:
    """Return the Autocast key of a device, whose kernels are registered now; None for a device that is not installed."""
    try:
        own = dc.device_key(device)
    except dc.BackendNotFoundError:
        return None
    known = KEYS.get(device)
    if known is not None and known[0] is own and DEVICES[known[1]] == device:
        return known[1]
    from .kernels import prepare

    return prepare(device, own)


def masks_with(device: str, *, enabled: bool) -> Any:
    """Return the context's masks with the key of a device included, or without it."""
    if enabled:
        key = find_key(device)
        return current_masks() if key is None else with_included(key)
    return without_included(KEYS[device][1]) if device in KEYS else current_masks()


def is_present(device: str) -> bool:
    """Return whether a device is installed, so that there can be tensors on it."""
    return device in dc.backends()


def _check(value: Any, kind: type, function: str, name: str, position: int) -> None:
    if type(value) is not kind:
        wanted = "torch.dtype" if kind is ScalarType else kind.__name__
        raise TypeError(
            f"{function}(): argument '{name}' (position {position}) must be {wanted}, not {type(value).__name__}"
        )


def set_autocast_enabled(device_type: str | bool, enabled: bool | None = None) -> None:
    """Turn autocast on or off for a device until it is set again, in this thread or task.

    A single bool is for cuda (source: ``torch.set_autocast_enabled``). A block of ``autocast`` is the better choice.
    """
    if enabled is None:
        _check(device_type, bool, "set_autocast_enabled", "enabled", 1)
        device_type, enabled = "cuda", bool(device_type)
    device = check_device(device_type, "set_autocast_enabled")
    _check(enabled, bool, "set_autocast_enabled", "enabled", 2)
    set_masks[masks_with(device, enabled=bool(enabled))]
    choices = choose(
        device,
        enabled=enabled,
        dtype=get_autocast_dtype(device),
        cache_enabled=current_choices().cache_enabled,
    )
    autocast_choices.set(choices)


def set_autocast_dtype(device_type: str, dtype: ScalarType) -> None:
    """Choose the lower precision of a device until it is set again (source: ``torch.set_autocast_dtype``)."""
    device = check_device(device_type, "set_autocast_dtype")
    _check(dtype, ScalarType, "set_autocast_dtype", "dtype", 2)
    choices = current_choices()
    autocast_choices.set(
        choose(device, enabled=device in choices.active, dtype=dtype, cache_enabled=choices.cache_enabled)
    )


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Choose whether casts of leaves are kept (source: ``torch.set_autocast_cache_enabled``)."""
    _check(enabled, bool, "set_autocast_cache_enabled", "enabled", 1)
    autocast_choices.set(current_choices()._replace(cache_enabled=enabled))


def clear_autocast_cache() -> None:
    """Forget the casts that are kept (source: ``torch.clear_autocast_cache``)."""
    nesting: Nesting | None = current_nesting()
    if nesting is not None:
        nesting.cache.clear()


def deeper(by: int = 1) -> Nesting:
    """Return the nesting of a block inside the present one, or of one around it: outermost ones share no cache."""
    nesting: Nesting | None = current_nesting()
    if nesting is None:
        return Nesting(by, CastCache())
    return Nesting(nesting.depth + by, nesting.cache if nesting.depth else CastCache())


def autocast_increment_nesting() -> int:
    """Count one more block around the running code; return their number (source: torch's function of the name)."""
    autocast_nesting.set(deeper())
    return deeper(0).depth


def autocast_decrement_nesting() -> int:
    """Count one block less; return their number."""
    autocast_nesting.set(deeper(-1))
    return deeper(0).depth
