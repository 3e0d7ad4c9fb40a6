"""PyTorch's dispatcher as a library: keys, keysets, schemas, registries, layers; devices come as plugins."""

from __future__ import annotations

from os import environ as _environ
from sys import modules as _modules
from typing import TYPE_CHECKING, Any

from . import discovery
from .arrays import (
    ArrayType,
    AutogradFormula,
    Availability,
    BackendInfo,
    Frontend,
    device,
    device_key,
    dtype,
    has_strides,
    is_mutable,
    rebind,
    register_frontend,
    shape,
    storage_of,
    storage_offset,
    strides,
    wrap_like,
)
from .calls import KernelTraits
from .devices import Device
from .errors import (
    AmbiguousOverloadError,
    ArgumentError,
    BackendError,
    BackendNotFoundError,
    BackendUnavailableError,
    CaptureError,
    ClosedOperatorError,
    DeviceMismatchError,
    DevkitNotFoundError,
    DispatchError,
    DispatchKeyError,
    EmptyKeysetError,
    FrontendMismatchError,
    KernelResultError,
    NoKernelError,
    NoMatchingOverloadError,
    OpCheckError,
    OperatorNotFoundError,
    OverwriteWarning,
    RegistrationError,
    SchemaError,
    UnknownOperatorWarning,
)
from .keys import DISPATCH_KEY_PRIORITY, DispatchKey, DispatchKeySet, apply_masks, exclude_keys, include_keys
from .operators import (
    KernelFactory,
    KernelProvider,
    LazyDefinition,
    Library,
    OperatorEntry,
    OpOverload,
    OpOverloadPacket,
    Origin,
    Registry,
    fallthrough_kernel,
    kernel_factory,
    registry,
    rename_arguments,
    use_kernels,
)
from .operators.overloads import respell as respell  # the old name of rename_arguments, until 0.2
from .schema import FunctionSchema, declare_dtypes

if TYPE_CHECKING:
    from .custom_ops import (
        CustomOpDef,
        Tensor,
        custom_op,
        define,
        impl,
        infer_schema,
        opcheck,
        register_autocast,
        register_autograd,
        register_fake,
        register_kernel,
        register_vmap,
    )
    from .devkit import coverage, explain
    from .display.shown_progress import show_progress
    from .layers.modes import DispatchMode
    from .layers.profiler import profile
    from .layers.tracer import trace
    from .operators.kernel_handle import KernelHandle, fast_redispatch, get_kernel
    from .pipelines import PipelineError, PlannedStep, Program, capture, current_pipeline, pipeline
    from .plugins.hooks import hookimpl
    from .plugins.in_process import BackendHandle, register_backend
    from .plugins.loading import BackendLoader, backends, kernel_providers, load_backend, refresh
    from .synchronization import computed_for_sizes, synchronize

__version__ = "0.1.0"

if "DISPATCH_LOG" in _environ or "logging" in _modules:
    from .logs import read_environment as _read_environment

    _read_environment()


def _make_loader() -> BackendLoader:
    from .plugins.loading import BackendLoader  # it imports the plugin libraries

    return BackendLoader(registry)


discovery.provide(_make_loader)
ops = registry.ops
dispatch = registry.dispatch
dispatch_with_keyset = registry.dispatch_with_keyset
redispatch = registry.redispatch
call_direct = registry.call_direct

#: Names whose modules `import dispatch_core` does not load: the plugins', with their libraries, and the tools'. A module
#: must not be named like a name that it hands on, because importing it would put it in the name's place.
_LATE = {
    "BackendHandle": ".plugins.in_process",
    "CustomOpDef": ".custom_ops",
    "DispatchMode": ".layers.modes",
    "KernelHandle": ".operators.kernel_handle",
    "PipelineError": ".pipelines",
    "PlannedStep": ".pipelines",
    "Program": ".pipelines",
    "Tensor": ".custom_ops",
    "backends": ".plugins.loading",
    "below": ".operators.kernel_handle",
    "computed_for_sizes": ".synchronization",
    "coverage": ".devkit",
    "capture": ".pipelines",
    "current_pipeline": ".pipelines",
    "custom_op": ".custom_ops",
    "define": ".custom_ops",
    "explain": ".devkit",
    "fast_redispatch": ".operators.kernel_handle",
    "get_kernel": ".operators.kernel_handle",
    "hookimpl": ".plugins.hooks",
    "impl": ".custom_ops",
    "infer_schema": ".custom_ops",
    "kernel_providers": ".plugins.loading",
    "load_backend": ".plugins.loading",
    "opcheck": ".custom_ops",
    "profile": ".layers.profiler",
    "pipeline": ".pipelines",
    "refresh": ".plugins.loading",
    "register_autocast": ".custom_ops",
    "register_autograd": ".custom_ops",
    "register_backend": ".plugins.in_process",
    "register_fake": ".custom_ops",
    "register_kernel": ".custom_ops",
    "register_vmap": ".custom_ops",
    "show_progress": ".display.shown_progress",
    "synchronize": ".synchronization",
    "trace": ".layers.tracer",
}


if not TYPE_CHECKING:  # it would make every misspelt name one of any type

    def __getattr__(name: str) -> Any:
        module = _LATE.get(name)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        found = globals()[name] = getattr(import_module(module, __name__), name)
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATE})


__all__ = [
    "DISPATCH_KEY_PRIORITY",
    "AmbiguousOverloadError",
    "ArgumentError",
    "ArrayType",
    "AutogradFormula",
    "Availability",
    "BackendError",
    "BackendHandle",
    "BackendInfo",
    "BackendNotFoundError",
    "BackendUnavailableError",
    "CaptureError",
    "ClosedOperatorError",
    "CustomOpDef",
    "Device",
    "DeviceMismatchError",
    "DevkitNotFoundError",
    "DispatchError",
    "DispatchKey",
    "DispatchKeyError",
    "DispatchKeySet",
    "DispatchMode",
    "EmptyKeysetError",
    "Frontend",
    "FrontendMismatchError",
    "FunctionSchema",
    "KernelFactory",
    "KernelHandle",
    "KernelProvider",
    "KernelResultError",
    "KernelTraits",
    "LazyDefinition",
    "Library",
    "NoKernelError",
    "NoMatchingOverloadError",
    "OpCheckError",
    "OpOverload",
    "OpOverloadPacket",
    "OperatorEntry",
    "OperatorNotFoundError",
    "Origin",
    "OverwriteWarning",
    "PipelineError",
    "PlannedStep",
    "Program",
    "RegistrationError",
    "Registry",
    "SchemaError",
    "Tensor",
    "UnknownOperatorWarning",
    "apply_masks",
    "backends",
    "call_direct",
    "capture",
    "computed_for_sizes",
    "coverage",
    "current_pipeline",
    "custom_op",
    "declare_dtypes",
    "define",
    "device",
    "device_key",
    "dispatch",
    "dispatch_with_keyset",
    "dtype",
    "exclude_keys",
    "explain",
    "fallthrough_kernel",
    "fast_redispatch",
    "get_kernel",
    "has_strides",
    "hookimpl",
    "impl",
    "include_keys",
    "infer_schema",
    "is_mutable",
    "kernel_factory",
    "kernel_providers",
    "load_backend",
    "opcheck",
    "ops",
    "pipeline",
    "profile",
    "rebind",
    "redispatch",
    "refresh",
    "register_autocast",
    "register_autograd",
    "register_backend",
    "register_fake",
    "register_frontend",
    "register_kernel",
    "register_vmap",
    "registry",
    "rename_arguments",
    "shape",
    "show_progress",
    "storage_of",
    "storage_offset",
    "strides",
    "synchronize",
    "trace",
    "use_kernels",
    "wrap_like",
]
