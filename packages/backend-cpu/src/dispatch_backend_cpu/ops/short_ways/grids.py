"""The short way of ``grid_sampler``, to the kernels of images and of volumes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ..networks.sampling import sample_simply

#: Operator → its short way, and the options of ``Library.short_way``.
SHORT_WAYS: Final[dict[str, tuple[Callable[..., Any], dict[str, Any]]]] = {
    "grid_sampler": (sample_simply, {"parts": ("grid_sampler_2d", "grid_sampler_3d")})
}
