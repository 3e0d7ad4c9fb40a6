"""Derivative formulas of complex numbers; see ``dispatch_aten.derivatives``."""

from __future__ import annotations

from typing import Final

FORMULAS: Final[dict[str, dict[str, str]]] = {
    "_conj_physical": {"self": "conjugate(grad)"},
    "angle": {"self": "angle_gradient(grad, self)"},
    "complex": {"real": "real_part(grad)", "imag": "imaginary_part(grad)"},
    "sgn": {"self": "sgn_gradient(grad, self, result)"},
    "view_as_complex": {"self": "view_as_real(grad)"},
    "view_as_real": {"self": "view_as_complex(contiguous(grad))"},
}
