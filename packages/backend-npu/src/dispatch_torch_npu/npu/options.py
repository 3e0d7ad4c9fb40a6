"""Options of the toolkit. Operators come compiled and arrays are ND here, so that most have one value that is served.

The other values are refused, or warned of where a program goes on without them.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Final

from ..refusals import refuse

__all__ = [
    "CubeMathType",
    "are_compatible_impl_enabled",
    "config",
    "conv",
    "get_mm_bmm_format_nd",
    "is_jit_compile_false",
    "matmul",
    "set_compile_mode",
    "set_mm_bmm_format_nd",
    "set_option",
    "use_compatible_impl",
]

#: Option → its values; None where any is one.
_OPTIONS: Final[dict[str, tuple[str, ...] | None]] = {
    "ACL_PRECISION_MODE": ("allow_fp32_to_fp16", "must_keep_origin_dtype"),
    "ACL_OP_SELECT_IMPL_MODE": ("high_performance", "high_precision"),
    "ACL_AICORE_NUM": tuple(map(str, range(1, 33))),
    "ACL_OPTYPELIST_FOR_IMPLMODE": None,
    "ACL_OP_DEBUG_LEVEL": tuple("01234"),
    "ACL_DEBUG_DIR": None,
    "ACL_OP_COMPILER_CACHE_MODE": ("disable", "enable", "force"),
    "ACL_OP_COMPILER_CACHE_DIR": None,
    "ACL_OP_DEBUG_OPTION": None,
    "MM_BMM_ND_ENABLE": ("enable", "disable"),
    "jitCompile": ("enable", "disable"),
}
_COMPILED: Final = "operators come compiled with the toolkit: options of its compiler change nothing"


class CubeMathType(IntEnum):
    """How products of matrices may round (source: ``torch_npu.npu.CubeMathType``)."""

    KEEP_DTYPE = 0
    ALLOW_FP32_DOWN_PRECISION = 1
    USE_FP16 = 2
    USE_HF32 = 3
    USE_FP32_ADD = 4


def set_option(option: Mapping[str, Any]) -> None:
    """Check options of the toolkit's compiler, and warn that they change nothing here (source: ``torch_npu.npu``).

    Raises ``TypeError`` for anything but a dict, ``ValueError`` for a value that an option does not have.

    >>> set_option({"MM_BMM_ND_ENABLE": "enable"})
    """
    if not isinstance(option, Mapping):
        raise TypeError(f"npu option must be a dict, not {type(option).__name__}")
    for name, value in option.items():
        values = _OPTIONS.get(name)
        if values is not None and str(value) not in values:
            raise ValueError(f"value of {name} should be in {list(values)}, but got {value}")
    if "MM_BMM_ND_ENABLE" in option:
        set_mm_bmm_format_nd(option["MM_BMM_ND_ENABLE"] == "enable")
    others = sorted(
        set(option) - {"MM_BMM_ND_ENABLE"} - ({"jitCompile"} if option.get("jitCompile") == "disable" else set())
    )
    if others:
        warnings.warn(f"set_option({', '.join(others)}): {_COMPILED}", stacklevel=2)


def set_compile_mode(jit_compile: bool = False) -> None:
    """Take ``jit_compile=False``, which is so here, and warn of True (source: ``torch_npu.npu``).

    >>> set_compile_mode(jit_compile=False)
    """
    if jit_compile:
        warnings.warn(f"set_compile_mode(jit_compile=True): {_COMPILED}", stacklevel=2)


def is_jit_compile_false() -> bool:
    """Return that operators are not compiled while a program runs: True (source: ``torch_npu.npu``).

    >>> is_jit_compile_false()
    True
    """
    return True


def set_mm_bmm_format_nd(is_nd: bool = True) -> None:
    """Take True, which is so here (source: ``torch_npu.npu``).

    Raises ``NotServedError`` for False.

    >>> set_mm_bmm_format_nd(True)
    """
    if not is_nd:
        refuse("set_mm_bmm_format_nd(False)", "every array has the format ND", "leave it out")


def get_mm_bmm_format_nd() -> bool:
    """Return that products of matrices work in the format ND: True (source: ``torch_npu.npu``).

    >>> get_mm_bmm_format_nd()
    True
    """
    return True


def use_compatible_impl(enabled: bool) -> None:
    """Take True: every operator follows torch's formula here (source: ``torch_npu.npu``).

    Raises ``NotServedError`` for False.

    >>> use_compatible_impl(True)
    """
    if not enabled:
        refuse("use_compatible_impl(False)", "every operator follows torch's formula", "leave it out")


def are_compatible_impl_enabled() -> bool:
    """Return that operators follow torch's formulas: True (source: ``torch_npu.npu``).

    >>> are_compatible_impl_enabled()
    True
    """
    return True


class _Fixed:
    """Switches that have one value each here; setting another is refused by name."""

    _path: str
    _reasons: dict[str, str]

    def __init__(self, path: str, values: dict[str, tuple[Any, str]]) -> None:
        vars(self).update(_path=path, _reasons={name: reason for name, (_, reason) in values.items()})
        vars(self).update({name: value for name, (value, _) in values.items()})

    def __setattr__(self, name: str, value: Any) -> None:
        reason = self._reasons.get(name)
        if reason is None:
            names = ", ".join(self._reasons)
            raise AttributeError(f"torch.npu.{self._path} has no switch {name!r}; it has {names}", name=name, obj=self)
        if value != getattr(self, name):
            refuse(f"torch.npu.{self._path}.{name} = {value}", reason, f"it is {getattr(self, name)}: leave it out")

    def __repr__(self) -> str:
        return (
            f"<switches torch.npu.{self._path}: {', '.join(f'{name}={getattr(self, name)}' for name in self._reasons)}>"
        )


config: Final[Any] = _Fixed("config", {"allow_internal_format": (False, "every array has the format ND")})
matmul: Final[Any] = _Fixed(
    "matmul",
    {
        "allow_hf32": (False, "products of matrices keep float32"),
        "cube_math_type": (CubeMathType.KEEP_DTYPE, "products of matrices keep their dtype"),
    },
)
conv: Final[Any] = _Fixed("conv", {"allow_hf32": (True, "convolutions in float32 may round to HF32, as torch_npu's")})
