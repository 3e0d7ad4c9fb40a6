"""Derivative formulas of pooling; see ``dispatch_aten.derivatives``."""

from __future__ import annotations

from typing import Final


def _formulas() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for count in (2, 3):
        windows = "kernel_size, stride, padding"
        indexed = {
            f"max_pool{count}d_with_indices": f"{windows}, dilation, ceil_mode, ",
            f"adaptive_max_pool{count}d": "",
            f"fractional_max_pool{count}d": "kernel_size, output_size, ",
        }
        for name, options in indexed.items():
            found[name] = {"self": f"{name}_backward(grad, self, {options}result1)"}
            found[f"{name}_backward"] = {
                "grad_output": f"elements_at(grad, indices, {count})",
                "self": "zeros_like(self)",
            }
        averages = {
            f"avg_pool{count}d": (f"{windows}, ceil_mode, count_include_pad, divisor_override",) * 2,
            f"_adaptive_avg_pool{count}d": ("", f"grad_output_sizes[-{count}:]"),
        }
        for name, (options, again) in averages.items():
            found[name] = {"self": f"{name}_backward(grad, self{options and ', '}{options})"}
            found[f"{name}_backward"] = {"grad_output": f"{name}(grad, {again})", "self": "zeros_like(self)"}
        found[f"max_unpool{count}d"] = {"self": f"elements_at(grad, indices, {count})"}
    return found


FORMULAS: Final[dict[str, dict[str, str]]] = _formulas()

DIFFERENTIABLE_OUTPUTS: Final = {
    f"{name}{count}d{suffix}": (True, False)
    for count in (2, 3)
    for name, suffix in (("max_pool", "_with_indices"), ("adaptive_max_pool", ""), ("fractional_max_pool", ""))
}
