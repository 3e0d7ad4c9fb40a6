"""Operators of programs, defined by a schema or made of a function, with kernels, fakes and gradients.

The operators are the dispatcher's: what `dispatch_core` registers and what is registered here stand in one registry, under
`torchlike.ops` and `dispatch_core.ops`. Kernels here are functions of tensors under every key, as torch's are; those of
`dispatch_core` take a device's arrays (source: ``torch.library``).
"""

from pathlib import Path as _Path

from dispatch_core import fallthrough_kernel
from dispatch_core.frontends import registers_for_callers as _registers_for_callers

from .checking import opcheck
from .fakes import get_ctx
from .functions import (
    define,
    impl,
    impl_abstract,
    register_autocast,
    register_autograd,
    register_fake,
    register_kernel,
    register_torch_dispatch,
    register_vmap,
)
from .inference import infer_schema
from .kernel_functions import get_kernel
from .libraries import Library
from .libraries import scoped_library as _scoped_library  # noqa: F401  # by torch's private name
from .operators import CustomOpDef, custom_op
from .triton import triton_op, wrap_triton

_registers_for_callers(str(_Path(__file__).parent))

__all__ = [
    "CustomOpDef",
    "Library",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "get_kernel",
    "impl",
    "impl_abstract",
    "infer_schema",
    "opcheck",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
    "triton_op",
    "wrap_triton",
]
