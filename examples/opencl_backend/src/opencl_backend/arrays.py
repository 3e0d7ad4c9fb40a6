"""The device's arrays: a block of memory and a description; and their dtypes in OpenCL C."""

from __future__ import annotations

from typing import Final, NamedTuple

from dispatch_aten.errors import DtypeError
from dispatch_aten.shapes import HasSpec, TensorMeta, storage_extent

from .driver import current_device
from .memory import Block


class Array(HasSpec):
    """An array on a device; strides and offset count elements."""

    __slots__ = ("__weakref__", "block", "meta")

    def __init__(self, block: Block, meta: TensorMeta) -> None:
        # Shape rules keep their answers by `spec`, which therefore tells nothing of the place in the block.
        self.block, self.meta, self.spec, self.storage_offset = block, meta, meta.at_start(), meta.storage_offset


class CType(NamedTuple):
    """A dtype in OpenCL C: in memory, to compute with, and rounding or wrapping a value ``{}`` of any other type to it."""

    memory: str
    value: str
    convert: str
    #: The type of sums: as wide as there is, so that long sums stay exact or nearly so.
    total: str = "long"
    load: str = "m{0}[{1}]"
    store: str = "m{0}[{1}] = {2};"


C_TYPES: Final = {
    "bool": CType("uchar", "uchar", "(uchar)(({}) != 0)"),
    # By way of 64 bits, so that floats beyond the type wrap around.
    "uint8": CType("uchar", "uchar", "(uchar)(long)({})"),
    "int8": CType("char", "char", "(char)(long)({})"),
    "int16": CType("short", "short", "(short)(long)({})"),
    "int32": CType("int", "int", "(int)({})"),
    "int64": CType("long", "long", "(long)({})"),
    # Every driver can read and store halves; computing with them is an extension.
    "float16": CType(
        "half",
        "float",
        "round_half((float)({}))",
        "double",
        "vload_half({1}, m{0})",
        "vstore_half_rte({2}, {1}, m{0});",
    ),
    "float32": CType("float", "float", "(float)({})", "double"),
    "float64": CType("double", "double", "(double)({})", "double"),
}


def read(dtype: str, operand: int, place: str) -> str:
    """Return the expression of an operand's element at a place."""
    return C_TYPES[dtype].load.format(operand, place)


def write(dtype: str, operand: int, place: str, value: str) -> str:
    """Return the statement that stores a value of any type at a place of an operand."""
    kind = C_TYPES[dtype]
    return kind.store.format(operand, place, kind.convert.format(value))


def check_dtype(spec: TensorMeta) -> None:
    """Raise ``DtypeError`` for a dtype that OpenCL C has no type for, or that no driver computes with."""
    if spec.dtype.short not in C_TYPES:
        raise DtypeError(f"opencl has no arrays of {spec.dtype}")


def empty(spec: TensorMeta, index: int | None = None) -> Array:
    """Return a new array with the strides and dtype that a shape rule describes, by default on the thread's device."""
    check_dtype(spec)
    nbytes = storage_extent(spec.shape, spec.strides) * spec.dtype.itemsize
    return Array(Block(nbytes, current_device() if index is None else index), spec)
