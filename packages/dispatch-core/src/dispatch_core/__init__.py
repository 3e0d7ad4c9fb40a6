"""PyTorch's dispatcher as a library: keys, keysets, schemas, registries, layers; devices come as plugins."""

from __future__ import annotations

from os import environ as _environ
from sys import meta_path as _meta_path
from sys import modules as _modules
from typing import TYPE_CHECKING, Any

from . import discovery
from .devices import Device
from .devices import provide_accelerator as _provide_accelerator
from .errors import (
    AmbiguousOverloadError,
    ArgumentError,
    AsyncDeviceError,
    BackendError,
    BackendNotFoundError,
    BackendUnavailableError,
    CaptureError,
    ClosedOperatorError,
    DeviceLostError,
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
    OutOfMemoryError,
    OverwriteWarning,
    RegistrationError,
    SchemaError,
    UnknownOperatorWarning,
)
from .keys import DISPATCH_KEY_PRIORITY, DispatchKey, DispatchKeySet, apply_masks, exclude_keys, include_keys

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec

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
        note_device,
        rebind,
        register_frontend,
        shape,
        storage_of,
        storage_offset,
        strides,
        wrap_like,
    )
    from .calls import KernelTraits
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
    from .devkit import coverage, explain, show_progress
    from .layers.modes import DispatchMode
    from .layers.profiler import profile
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
    from .operators.kernel_handle import KernelHandle, fast_redispatch, get_kernel
    from .operators.overloads import respell as respell  # the old name of rename_arguments, until 0.2
    from .pipelines import PipelineError, PlannedStep, Program, capture, current_pipeline, pipeline, trace
    from .plugins.hooks import hookimpl
    from .plugins.in_process import BackendHandle, register_backend
    from .plugins.loading import BackendLoader, backends, kernel_providers, load_backend, refresh
    from .runtime import (
        DeviceInterface,
        Event,
        Stream,
        computed_for_sizes,
        computed_on_host,
        current_accelerator,
        host_kernel,
        is_deterministic,
        promote,
        synchronize,
    )
    from .schema import FunctionSchema, declare_dtypes, declare_promotion

__version__ = "0.1.0"

if "DISPATCH_LOG" in _environ or "logging" in _modules:
    from .surroundings.logs import read_environment as _read_environment

    _read_environment()


def _make_loader() -> BackendLoader:
    from .plugins.loading import BackendLoader  # it imports the plugin libraries

    return BackendLoader(_find_late("registry"))


discovery.provide(_make_loader)


def _find_accelerator(index: int) -> str:
    from .runtime import resolve  # few programs name a device by its index

    return resolve(index).type


_provide_accelerator(_find_accelerator)

#: Names whose modules `import dispatch_core` does not load: those of calls and registrations, which a program without
#: either does without, the plugins', with their libraries, and the tools'. A module must not be named like a name that it
#: hands on, because importing it would put it in the name's place.
_LATE = {
    "ArrayType": ".arrays",
    "AutogradFormula": ".arrays",
    "Availability": ".arrays",
    "BackendHandle": ".plugins.in_process",
    "BackendInfo": ".arrays",
    "backends": ".plugins.loading",
    "below": ".operators.kernel_handle",
    "capture": ".pipelines",
    "computed_for_sizes": ".runtime",
    "computed_on_host": ".runtime",
    "coverage": ".devkit",
    "current_pipeline": ".pipelines",
    "custom_op": ".custom_ops",
    "CustomOpDef": ".custom_ops",
    "current_accelerator": ".runtime",
    "declare_dtypes": ".schema",
    "declare_promotion": ".schema",
    "define": ".custom_ops",
    "device": ".arrays",
    "device_key": ".arrays",
    "DeviceInterface": ".runtime",
    "DispatchMode": ".layers.modes",
    "dtype": ".arrays",
    "Event": ".runtime",
    "explain": ".devkit",
    "fallthrough_kernel": ".operators",
    "fast_redispatch": ".operators.kernel_handle",
    "Frontend": ".arrays",
    "FunctionSchema": ".schema",
    "get_kernel": ".operators.kernel_handle",
    "has_strides": ".arrays",
    "hookimpl": ".plugins.hooks",
    "host_kernel": ".runtime",
    "impl": ".custom_ops",
    "infer_schema": ".custom_ops",
    "is_mutable": ".arrays",
    "kernel_factory": ".operators",
    "kernel_providers": ".plugins.loading",
    "KernelFactory": ".operators",
    "KernelHandle": ".operators.kernel_handle",
    "KernelProvider": ".operators",
    "KernelTraits": ".calls",
    "LazyDefinition": ".operators",
    "Library": ".operators",
    "load_backend": ".plugins.loading",
    "opcheck": ".custom_ops",
    "OperatorEntry": ".operators",
    "note_device": ".arrays",
    "OpOverload": ".operators",
    "OpOverloadPacket": ".operators",
    "Origin": ".operators",
    "pipeline": ".pipelines",
    "PipelineError": ".pipelines",
    "PlannedStep": ".pipelines",
    "profile": ".layers.profiler",
    "Program": ".pipelines",
    "is_deterministic": ".runtime",
    "promote": ".runtime",
    "rebind": ".arrays",
    "refresh": ".plugins.loading",
    "register_autocast": ".custom_ops",
    "register_autograd": ".custom_ops",
    "register_backend": ".plugins.in_process",
    "register_fake": ".custom_ops",
    "register_frontend": ".arrays",
    "register_kernel": ".custom_ops",
    "register_vmap": ".custom_ops",
    "Registry": ".operators",
    "registry": ".operators",
    "rename_arguments": ".operators",
    "respell": ".operators.overloads",
    "shape": ".arrays",
    "show_progress": ".devkit",
    "storage_of": ".arrays",
    "storage_offset": ".arrays",
    "Stream": ".runtime",
    "strides": ".arrays",
    "synchronize": ".runtime",
    "Tensor": ".custom_ops",
    "trace": ".pipelines",
    "use_kernels": ".operators",
    "wrap_like": ".arrays",
}


#: What is an attribute of `registry`, too.
_OF_REGISTRY = ("call_direct", "dispatch", "dispatch_with_keyset", "ops", "redispatch")


def _find_late(name: str) -> Any:
    if name in _OF_REGISTRY:
        found = getattr(_find_late("registry"), name)
    elif (module := _LATE.get(name)) is not None:
        from importlib import import_module

        found = getattr(import_module(module, __name__), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


class _FormerPaths:
    """Finds modules by paths that they had, where no other finder knows a path."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if not name.startswith("dispatch_core."):
            return None
        from .surroundings.former_paths import find_former

        return find_former(name)


class _FormerPackages:
    """Finds modules below such a path, before another finder makes them a second time."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        parent, _, child = name.rpartition(".")
        if not name.startswith("dispatch_core.") or (spec := _modules[parent].__spec__) is None or spec.name == parent:
            return None
        from .surroundings.former_paths import alias

        return alias(name, f"{spec.name}.{child}")


_meta_path.append(_FormerPaths)
_meta_path.insert(0, _FormerPackages)

if TYPE_CHECKING:  # __getattr__ would make every misspelt name one of any type
    ops = registry.ops
    dispatch = registry.dispatch
    dispatch_with_keyset = registry.dispatch_with_keyset
    redispatch = registry.redispatch
    call_direct: Callable[..., Any]
else:
    __getattr__ = _find_late


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATE, *_OF_REGISTRY})


__all__ = [
    "DISPATCH_KEY_PRIORITY",
    "AmbiguousOverloadError",
    "ArgumentError",
    "ArrayType",
    "AsyncDeviceError",
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
    "DeviceInterface",
    "DeviceLostError",
    "DeviceMismatchError",
    "DevkitNotFoundError",
    "DispatchError",
    "DispatchKey",
    "DispatchKeyError",
    "DispatchKeySet",
    "DispatchMode",
    "EmptyKeysetError",
    "Event",
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
    "OutOfMemoryError",
    "OverwriteWarning",
    "PipelineError",
    "PlannedStep",
    "Program",
    "RegistrationError",
    "Registry",
    "SchemaError",
    "Stream",
    "Tensor",
    "UnknownOperatorWarning",
    "apply_masks",
    "backends",
    "call_direct",
    "capture",
    "computed_for_sizes",
    "computed_on_host",
    "coverage",
    "current_accelerator",
    "current_pipeline",
    "custom_op",
    "declare_dtypes",
    "declare_promotion",
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
    "host_kernel",
    "impl",
    "include_keys",
    "infer_schema",
    "is_deterministic",
    "is_mutable",
    "kernel_factory",
    "kernel_providers",
    "load_backend",
    "note_device",
    "opcheck",
    "ops",
    "pipeline",
    "profile",
    "promote",
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
