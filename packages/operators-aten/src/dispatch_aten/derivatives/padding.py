"""Derivative formulas of padding; see ``dispatch_aten.derivatives``."""

from __future__ import annotations

from typing import Final


def _formulas() -> dict[str, dict[str, str]]:
    found = {"constant_pad_nd": {"self": "constant_pad_nd(grad, negate(pad), 0)"}}
    for name in (f"{kind}_pad{count}d" for kind in ("reflection", "replication") for count in (1, 2, 3)):
        found[name] = {"self": f"{name}_backward(grad, self, padding)"}
        found[f"{name}_backward"] = {"grad_output": f"{name}(grad, padding)", "self": "zeros_like(self)"}
    return found


FORMULAS: Final[dict[str, dict[str, str]]] = _formulas()
