"""Kernels for the cpu device that Numba compiles, switched on by `dispatch_core.use_kernels("numba")`."""
