"""Custom operators: made of functions with type hints, extended, and checked against their declarations."""

from .checking import opcheck
from .definition import CustomOpDef, custom_op
from .registration_functions import (
    define,
    impl,
    register_autocast,
    register_autograd,
    register_fake,
    register_kernel,
    register_vmap,
)
from .schema_inference import Tensor, infer_schema

__all__ = [
    "CustomOpDef",
    "Tensor",
    "custom_op",
    "define",
    "impl",
    "infer_schema",
    "opcheck",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_vmap",
]
