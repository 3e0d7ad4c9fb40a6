"""Memory shared with other libraries (source: ``torch.utils.dlpack``)."""

from __future__ import annotations

from enum import IntEnum

from ..creation.sources import from_dlpack, to_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]

#: The kinds of devices, with DLPack's numbers.
_DEVICES = "CPU CUDA CUDAHost OpenCL _ _ Vulkan Metal VPI ROCM ROCMHost ExtDev CUDAManaged OneAPI WebGPU Hexagon MAIA"

DLDeviceType = IntEnum(  # type: ignore[misc]  # its members are DLPack's
    "DLDeviceType", {f"kDL{name}": number for number, name in enumerate(_DEVICES.split(), 1) if name != "_"}
)
"""The kind of a device in DLPack: ``DLDeviceType.kDLCPU``."""
