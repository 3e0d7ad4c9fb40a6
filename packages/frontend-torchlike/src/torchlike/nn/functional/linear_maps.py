"""Linear maps."""

from __future__ import annotations

from ...functions.operator_functions import FUNCTIONAL

linear = FUNCTIONAL["linear"]
