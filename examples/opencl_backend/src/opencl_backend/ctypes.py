"""The operator library's dtypes in OpenCL C: how memory holds a value, how it is computed with, read and stored."""

from __future__ import annotations

from typing import Final, NamedTuple


class CType(NamedTuple):
    """A dtype in OpenCL C; the three templates take a memory ``m``, a position ``p`` and an expression ``x``."""

    memory: str
    value: str
    #: Rounds or wraps a value of any other type.
    convert: str
    load: str = "{m}[{p}]"
    store: str = "{m}[{p}] = {x}"
    #: The type of sums: as wide as there is, so that long sums stay exact or nearly so.
    total: str = "long"

    def write_store(self, m: str, p: str, x: str) -> str:
        """Return the statement that stores a value of any type."""
        return f"{self.store.format(m=m, p=p, x=self.convert.format(x=x))};"


def _integer(name: str) -> CType:
    # By way of 64 bits, so that floats beyond the type wrap around.
    return CType(name, name, f"({name})(long)({{x}})")


C_TYPES: Final = {
    "bool": CType("uchar", "uchar", "(uchar)(({x}) != 0)"),
    "uint8": _integer("uchar"),
    "int8": _integer("char"),
    "int16": _integer("short"),
    "int32": CType("int", "int", "(int)({x})"),
    "int64": CType("long", "long", "(long)({x})"),
    "uint16": _integer("ushort"),
    "uint32": _integer("uint"),
    "uint64": CType("ulong", "ulong", "(ulong)({x})"),
    # Every driver can read and store halves; computing with them is an extension.
    "float16": CType(
        "half", "float", "round_half((float)({x}))", "vload_half({p}, {m})", "vstore_half_rte({x}, {p}, {m})", "double"
    ),
    "float32": CType("float", "float", "(float)({x})", total="double"),
    "float64": CType("double", "double", "(double)({x})", total="double"),
}
#: Those that the device says it computes with; the others are results of single operators.
COMPUTED: Final = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")

#: At the start of each program. Without contraction a chain has the bits of its calls one by one.
PRELUDE: Final = """
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

float round_half(float x) {
    ushort bits;
    vstore_half_rte(x, 0, (half *)&bits);
    return vload_half(0, (half *)&bits);
}
"""
