"""Lists of tensors in groups of one device and dtype, as optimizers treat them (source: ``torch.utils._foreach_utils``)."""

from __future__ import annotations

from typing import Any, Final

from ..history.grad_mode import no_grad
from ..nn.parameter import Parameter
from ..tensors.tensor import Tensor

#: The classes whose lists one call serves.
_foreach_supported_types: Final[list[type]] = [Tensor, Parameter]


def _get_foreach_kernels_supported_devices() -> list[str]:
    """Return the device types for which torch's optimizers treat lists of tensors by themselves."""
    return ["cuda", "xpu", "mtia"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """Return the device types for which torch's optimizers have one kernel for a whole step."""
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia"]


def _device_has_foreach_support(device: Any) -> bool:
    """Return whether functions of lists serve a device's tensors."""
    return device.type in (*_get_foreach_kernels_supported_devices(), "cpu")


def _has_foreach_support(tensors: list[Any], device: Any) -> bool:
    """Return whether functions of lists serve these tensors; None represents an absent one."""
    return _device_has_foreach_support(device) and all(
        each is None or type(each) in _foreach_supported_types for each in tensors
    )


@no_grad()
def _group_tensors_by_device_and_dtype(
    tensorlistlist: list[list[Any]], with_indices: bool = False
) -> dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]]:
    """Return, by device and dtype of the first list's tensors, the parts of all lists, and their places if asked for.

    Args:
        tensorlistlist: Lists of one length; the first has tensors alone, the others may have None, and may be empty.
        with_indices: Whether the places of each group's tensors are returned with them.

    Raises ``ValueError`` for lists of different lengths.

    >>> import torchlike
    >>> a, b = torchlike.ones(1), torchlike.ones(1).double()
    >>> found = _group_tensors_by_device_and_dtype([[a, b, a], [None, b, a]], with_indices=True)
    >>> [(dtype, places) for (_, dtype), (_, places) in found.items()]
    [(torchlike.float32, [0, 2]), (torchlike.float64, [1])]
    """
    found: dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]] = {}
    first = tensorlistlist[0]
    if any(part and len(part) != len(first) for part in tensorlistlist):
        raise ValueError(f"the lists have different lengths: {[len(part) for part in tensorlistlist]}")
    for place, tensor in enumerate(first):
        lists, places = found.setdefault((tensor.device, tensor.dtype), ([[] for _ in tensorlistlist], []))
        for part, into in zip(tensorlistlist, lists, strict=True):
            if part:
                into.append(part[place])
        if with_indices:
            places.append(place)
    return found
