"""Linear maps."""

from __future__ import annotations

from ...functions import FUNCTIONAL

linear = FUNCTIONAL["linear"]
