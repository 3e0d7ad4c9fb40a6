"""Derivative formulas of sorts and order statistics; see ``dispatch_aten.derivatives``."""

from __future__ import annotations

from typing import Final

_SELECTED: Final = "value_selecting_reduction_backward(grad, dim, result1, self_sizes, {})"

FORMULAS: Final = {name: {"self": _SELECTED.format("True")} for name in ("sort", "sort.stable", "topk")}

DIFFERENTIABLE_OUTPUTS: Final = dict.fromkeys(FORMULAS, (True, False))
