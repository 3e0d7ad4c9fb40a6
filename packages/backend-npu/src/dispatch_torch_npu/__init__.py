"""torch_npu for programs that run on torchlike: ``import torch_npu`` gives this package under ``python -m torchlike run``.

It is written against torchlike and the npu backend, and found by an entry point of the group ``dispatch_core.companions``.

>>> import dispatch_torch_npu as torch_npu
>>> int(torch_npu.get_npu_format(torch_npu.npu_format_cast(torch_npu.empty_with_format((2, 3)), 29)))
2
"""

from __future__ import annotations

import sys
from difflib import get_close_matches
from importlib import import_module
from types import ModuleType
from typing import Any, Final

from . import npu
from .refusals import NotServedError

__all__ = ["NotServedError", "npu", "stand_beside"]

#: The version whose names these are, with a part that says so.
__version__: Final = "2.7.1+dispatch"

#: Module of operators → the names that programs ask this package for.
_OPERATORS: Final = {
    "activations": (
        "fast_gelu npu_fast_gelu npu_geglu npu_gelu npu_gelu_mul npu_mish npu_scaled_masked_softmax npu_silu npu_silu_"
        " npu_swiglu"
    ),
    "attention": "npu_fusion_attention",
    "layouts": (
        "Format empty_with_format get_npu_format npu_broadcast npu_confusion_transpose npu_dtype_cast npu_dtype_cast_"
        " npu_format_cast npu_format_cast_ npu_one_hot npu_reshape npu_slice npu_stride_copy npu_transpose"
    ),
    "norms": "npu_add_rms_norm npu_deep_norm npu_group_norm_silu npu_layer_norm_eval npu_rms_norm",
    "products": (
        "npu_bmmV2 npu_conv2d npu_conv3d npu_linear npu_max npu_min npu_softmax_cross_entropy_with_logits npu_sort_v2"
    ),
    "rotary": "npu_apply_rotary_pos_emb npu_rotary_mul",
}
_HOMES: Final = {name: module for module, names in _OPERATORS.items() for name in names.split()}
#: Modules that are imported at their first use.
_MODULES: Final = ("optim", "profiler")
#: Packages of torch_npu's own, and what serves programs instead.
_ABSENT: Final = {
    "distributed": "torch.distributed has the processes and their collectives, by the backend hccl",
    "testing": "torch.testing compares tensors",
    "utils": "nothing of it is served but what torch.npu has",
}

#: The operators of torch_npu that are served.
OPERATORS: Final = tuple(sorted(_HOMES))


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        found = getattr(import_module(f".operators.{_HOMES[name]}", __name__), name)
        globals()[name] = found
        return found
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name[:1] == "_":
        raise AttributeError(f"module 'torch_npu' has no attribute {name!r}", name=name)
    if name in _ABSENT:
        raise AttributeError(f"torch_npu.{name} is not served\nHint: {_ABSENT[name]}", name=name)
    near = get_close_matches(name, _HOMES, n=1, cutoff=0.75)
    asked = f"did you mean {near[0]!r}?" if near else "compose it of torch's operators"
    raise AttributeError(
        f"torch_npu.{name} is not served: of torch_npu's operators there are {len(_HOMES)}, in torch_npu.OPERATORS\n"
        f"Hint: {asked}",
        name=name,
    )


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_MODULES})


class _NpuOperators:
    """The operators of this package beside those of the dispatcher's namespace, as programs call them: ``torch.ops.npu``."""

    def __init__(self, namespace: Any) -> None:
        self._namespace = namespace

    def __getattr__(self, name: str) -> Any:
        if name not in _HOMES and name in dir(self._namespace):
            return getattr(self._namespace, name)
        if name not in _HOMES:
            raise AttributeError(
                f"torch.ops.npu.{name} is not served\nHint: torch_npu.OPERATORS lists those that are", name=name
            )
        return __getattr__(name)

    def __dir__(self) -> list[str]:
        return sorted({*OPERATORS, *dir(self._namespace)})


def stand_beside(torch: ModuleType) -> None:
    """Make ``torch.npu`` the module of this package, as torch_npu does; called once, when a program imports torch_npu."""
    if getattr(torch, "npu", None) is not npu:
        torch._register_device_module("npu", npu)
    torch.ops.npu = _NpuOperators(torch.ops.npu)
    # Programs import these under torch's name, too.
    for name in ("torch.npu.amp", "torchlike.npu.amp"):
        sys.modules[name] = import_module(".npu.amp", __name__)
    torch.distributed.is_hccl_available = _is_hccl_available


def _is_hccl_available() -> bool:
    """Return whether there are collectives of Ascend: HCCL's library, and a device."""
    from dispatch_backend_npu import runtime  # programs of one process need not ask

    return runtime.is_available() and runtime.has_collectives()
