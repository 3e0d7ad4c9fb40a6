"""Settings of optimizers: collected from a constructor's arguments, and checked as torch checks them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dispatch_core.errors import short_repr

from ..tensors.tensor import Tensor

#: Setting → its name in torch's message; it must be at least zero.
_NAMES: Final = {"lr": "learning rate", "eps": "epsilon value"}


def collect_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings among a constructor's ``locals()``."""
    return {name: value for name, value in given.items() if name not in ("self", "params", "__class__")}


def check_settings(settings: Mapping[str, Any], names: str) -> None:
    """Raise ``ValueError`` as torch does where one of the named settings is out of its range, ``TypeError`` for no number.

    >>> check_settings({"lr": -1.0}, "lr")
    Traceback (most recent call last):
    ...
    ValueError: Invalid learning rate: -1.0
    """
    lr = settings.get("lr")
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    for name in names.split():
        value = settings[name]
        try:
            _check_range(name, value)
        except TypeError:
            raise TypeError(f"{name} takes numbers, but got {short_repr(value)}") from None


def _check_range(name: str, value: Any) -> None:
    if name == "betas":
        check_pair(value, name)
        for number, beta in enumerate(value):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"Invalid beta parameter at index {number}: {beta}")
    elif not value >= 0.0 or (name == "rho" and value > 1.0):
        raise ValueError(f"Invalid {_NAMES.get(name, f'{name} value')}: {value}")


def check_pair(value: Any, name: str) -> None:
    """Raise ``ValueError`` for anything but two values in a sequence."""
    if not hasattr(value, "__getitem__") or isinstance(value, (dict, str)) or len(value) != 2:
        raise ValueError(f"{name} takes two numbers, but got {short_repr(value)}")


def check_implementation(settings: Mapping[str, Any]) -> None:
    """Raise ``RuntimeError`` for choices that torch refuses together; all others choose the one way there is."""
    if settings.get("fused"):
        if settings.get("differentiable"):
            raise RuntimeError("`fused` does not support `differentiable`")
        if settings.get("foreach"):
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def check_capturable(param: Tensor, group: Mapping[str, Any], names: str = "params and state_steps") -> None:
    """Raise ``AssertionError`` for ``capturable`` steps on a device whose work cannot be captured into a graph."""
    if group.get("capturable") and not param.is_meta:
        raise AssertionError(
            f"If capturable=True, {names} must be on supported devices: ['cuda', 'xpu', 'hpu', 'privateuseone', 'xla']."
        )
