"""Compiled kernels for small arrays on the cpu: `dispatch_backend_cpu` puts them in the place of its own."""

from .finding import find_loops

__all__ = ["find_loops"]
