"""Derivative formulas of interpolation; see ``dispatch_aten.derivatives``."""

from __future__ import annotations

from typing import Final

from dispatch_aten.shapes.resampling import RESAMPLERS

_SCALES: Final = {1: "scales", 2: "scales_h, scales_w", 3: "scales_d, scales_h, scales_w"}


def _formulas() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for name, (count, kind) in RESAMPLERS.items():
        options = _SCALES[count] if kind in ("nearest", "exact") else f"align_corners, {_SCALES[count]}"
        found[name] = {"self": f"{name}_backward(grad, output_size, self_sizes, {options})"}
        found[f"{name}_backward"] = {"grad_output": f"{name}(grad, output_size, {options})"}
    return found


FORMULAS: Final[dict[str, dict[str, str]]] = _formulas()
