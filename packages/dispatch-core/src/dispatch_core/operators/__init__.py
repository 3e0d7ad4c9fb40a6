"""Operators: registrations, the dispatch table, the function that runs for a mask, overloads, registries, libraries."""

from ..bookkeeping.origins import Origin
from ..keys.switched_on import use_kernels
from .entry import OperatorEntry
from .lazy_definitions import LazyDefinition
from .library import Library
from .namespaces import OpNamespace, OpOverloadPacket, Ops
from .overloads import OpOverload, rename_arguments
from .registration import KernelFactory, KernelProvider, Registration, fallthrough_kernel, kernel_factory
from .registries import Registry, registry

__all__ = [
    "KernelFactory",
    "KernelProvider",
    "LazyDefinition",
    "Library",
    "OpNamespace",
    "OpOverload",
    "OpOverloadPacket",
    "OperatorEntry",
    "Ops",
    "Origin",
    "Registration",
    "Registry",
    "fallthrough_kernel",
    "kernel_factory",
    "registry",
    "rename_arguments",
    "use_kernels",
]
