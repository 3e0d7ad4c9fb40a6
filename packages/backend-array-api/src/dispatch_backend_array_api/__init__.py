"""Libraries that follow the Python array API standard, as devices: JAX, Dask, torch, CuPy, array-api-strict, and anybody's.

``array_api_backend`` makes the plugin of a device from a library's namespace; nothing is imported before its device, or an
array of it, is first met.
"""

from __future__ import annotations

from .backend import ArrayAPIBackend, array_api_backend

__all__ = ["ArrayAPIBackend", "array_api_backend"]
