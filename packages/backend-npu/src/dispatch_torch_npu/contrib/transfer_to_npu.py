"""Run programs for CUDA on this device: ``from torch_npu.contrib import transfer_to_npu``.

The name of the device ``cuda`` is read as ``npu`` from then on, wherever a device is named, and ``torch.cuda`` is
``torch.npu``. This is not undone. Where torchlike does not stand in for torch, the import changes nothing.
"""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from typing import Any

import torchlike
from dispatch_core.devices import alias_device

from .. import npu

__all__: list[str] = []

_TEXT = (
    "transfer_to_npu: the device cuda is npu from here on, wherever a program names it. torch.cuda and torch.cuda.amp are"
    " torch.npu and torch.npu.amp, and the methods cuda() of tensors and modules are npu(). A process group of nccl is one"
    " of hccl."
)
#: Modules of ``torch.cuda`` that programs import, and the parts of ``torch.npu`` that they are.
_MODULES = {
    "": "npu",
    ".amp": "npu.amp",
    ".amp.autocast_mode": "npu.amp",
    ".amp.grad_scaler": "npu.amp",
    ".memory": "npu",
    ".random": "npu",
    ".streams": "npu",
}


def _transfer(torch: Any) -> None:
    alias_device("cuda", "npu")
    for name, own in _MODULES.items():
        module = import_module(f"dispatch_torch_npu.{own}")
        for path in (f"torch.cuda{name}", f"torchlike.cuda{name}"):
            sys.modules[path] = module
    torch.cuda = npu
    npu.CUDAGraph = npu.NPUGraph
    _rename_process_groups(torch.distributed)
    warnings.filterwarnings("default", message="transfer_to_npu", category=ImportWarning)
    warnings.warn(_TEXT, ImportWarning, stacklevel=3)


def _rename_process_groups(distributed: Any) -> None:
    """Ask for hccl where a program asks for nccl."""
    plain = distributed.init_process_group

    def init_process_group(backend: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Make the group of all processes (source: ``torch.distributed``); nccl is read as hccl."""
        if isinstance(backend, str):
            backend = backend.replace("nccl", "hccl").replace("cuda", "npu")
        return plain(backend, *args, **kwargs)

    distributed.init_process_group = init_process_group
    distributed.is_nccl_available = distributed.is_hccl_available


# A tool that looks through all modules imports this one, too.
if "torch_npu" in sys.modules:
    _transfer(torchlike)
