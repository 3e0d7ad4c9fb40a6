"""Compiled kernels for small arrays on the cpu, and random draws: `dispatch_backend_cpu` uses them instead of its own."""

from .finding import find_draws, find_loops

__all__ = ["find_draws", "find_loops"]
