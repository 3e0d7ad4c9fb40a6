"""Settings of the process that programs make at their start: threads, determinism, precision (source: ``torch``).

NumPy and the libraries beneath it have threads of their own, and their results do not vary from run to run: a setting is
kept, and told again, and changes nothing, but for determinism, of which devices are told that have the choice.
"""

from __future__ import annotations

import builtins
import os
from typing import Any

from dispatch_core.runtime import is_deterministic, set_deterministic

_state: dict[str, Any] = {
    "threads": None,
    "interop_threads": None,
    "warn_only": False,
    "precision": "highest",
    "warn_always": False,
}


def _check_count(number: Any, who: str) -> int:
    if not isinstance(number, int):
        raise RuntimeError(f"{who} expects an int, but got {type(number).__name__}")
    if number <= 0:
        raise RuntimeError(f"{who} expects a positive integer")
    return number


def get_num_threads() -> int:
    """Return the number of threads that was set, or that of the processors."""
    return _state["threads"] or os.cpu_count() or 1


def set_num_threads(int: builtins.int) -> None:  # torch's name for it
    """Keep a number of threads; those of NumPy's libraries are set by their own variables (``OMP_NUM_THREADS``)."""
    _state["threads"] = _check_count(int, "set_num_threads")


def get_num_interop_threads() -> int:
    """Return the number of threads for operators side by side that was set, or that of the processors."""
    return _state["interop_threads"] or os.cpu_count() or 1


def set_num_interop_threads(int: builtins.int) -> None:  # as above
    """Keep a number of threads for operators side by side, of which there is one."""
    _state["interop_threads"] = _check_count(int, "set_num_interop_threads")


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for results that do not vary, which is so anyway on devices that have no faster algorithms."""
    set_deterministic(mode)
    _state["warn_only"] = bool(warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """Return whether they were asked for."""
    return is_deterministic()


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Return whether operators whose results vary were to warn only."""
    return bool(_state["warn_only"])


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Choose both settings by one: 0 or ``"default"``, 1 or ``"warn"``, 2 or ``"error"``."""
    modes: dict[int | str, int] = {"default": 0, "warn": 1, "error": 2, 0: 0, 1: 1, 2: 2}
    if debug_mode not in modes:
        raise RuntimeError(
            f"invalid value of debug_mode, expected 0, 1, 2, default, warn or error, but got {debug_mode}"
        )
    use_deterministic_algorithms(modes[debug_mode] > 0, warn_only=modes[debug_mode] == 1)


def get_deterministic_debug_mode() -> int:
    """Return both settings as one number."""
    return 0 if not is_deterministic() else 1 if _state["warn_only"] else 2


def get_float32_matmul_precision() -> str:
    """Return the precision of products of matrices that was set."""
    return str(_state["precision"])


def set_float32_matmul_precision(precision: str) -> None:
    """Keep a precision for products of matrices: ``"highest"``, ``"high"`` or ``"medium"``; it changes nothing."""
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(f"Invalid precision {precision}: expected 'highest', 'high' or 'medium'")
    _state["precision"] = precision


def set_flush_denormal(mode: bool) -> bool:
    """Return whether the processor now treats the smallest numbers as zero: it keeps them, whatever was asked for."""
    return not mode


def set_warn_always(b: bool) -> None:
    """Keep whether warnings are to come more than once; Python's ``warnings`` decides that here."""
    _state["warn_always"] = bool(b)


def is_warn_always_enabled() -> bool:
    """Return whether they were asked for."""
    return bool(_state["warn_always"])


def get_file_path(*path_components: str) -> str:
    """Return the path of a file of this package."""
    return os.path.join(os.path.dirname(os.path.dirname(__file__)), *path_components)  # noqa: PTH118, PTH120  # a string, without pathlib
