"""What the host computes, because aclnn has no form of it: declared here, and counted by name.

Such an operator waits for the device, copies its arguments to the host, runs the cpu backend's kernel there, and copies
the results back. `counts` tells how often that has happened, so that no program does so unnoticed. Random numbers are not
among them: they come from the device's generator, whose stream is drawn on the host and copied.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.shapes import check_written

from .aclnn.checks import to_device
from .aclnn.launch import forbid_collecting, launch
from .arrays import AclArray, from_numpy, to_numpy

__all__ = ["KERNELS", "REASONS", "counts", "on_host", "reset"]

_counted: Final[Counter[str]] = Counter()

REASONS: Final = {
    "nonzero": "how many elements it finds is known on the device alone",
    "masked_scatter_": "whether the source has elements enough is known on the device alone",
    "var.correction": "aclnnVarCorrection takes integers only; where the correction is one, the device computes it",
    "std.correction": "aclnnStd takes integers only; where the correction is one, the device computes it",
    "var_mean.correction": "aclnnVarMean takes integers only; where the correction is one, the device computes it",
}
"""Every operator that the host may compute, and why."""


def counts() -> dict[str, int]:
    """Tell how often the host has computed each operator of `REASONS` since the last `reset`."""
    return dict(_counted)


def reset() -> None:
    """Count anew."""
    _counted.clear()


def on_host(name: str, *args: Any, **kwargs: Any) -> Any:
    """Run an operator on the host, on arrays of the device; what it writes to is written on the device, too."""
    assert name in REASONS, name
    forbid_collecting()
    _counted[name] += 1
    packet, _, overload = name.partition(".")
    operator = getattr(getattr(dc.ops.aten, packet), overload or "default")
    found = operator(*map(_fetched, args), **{key: _fetched(value) for key, value in kwargs.items()})
    if packet.endswith("_"):
        launch("aclnnInplaceCopy", args[0], from_numpy(found))
        return args[0]
    return tuple(map(_put, found)) if isinstance(found, (list, tuple)) else _put(found)


def _put(found: Any) -> AclArray:
    """Copy a result to the device, laid out as the host's kernel has done it."""
    array = from_numpy(found)
    return array if found.size else array.view(found.shape, dc.strides(found), 0)


def _fetched(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_fetched(item) for item in value]
    return to_numpy(value) if isinstance(value, AclArray) else value


def _kernel(name: str) -> Callable[..., Any]:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        args = tuple(map(to_device, args))
        if name.endswith("_"):
            check_written(args[0].spec)
        return on_host(name, *args, **kwargs)

    return kernel


KERNELS: Final[dict[str, Callable[..., Any]]] = {name: _kernel(name) for name in ("nonzero", "masked_scatter_")}
