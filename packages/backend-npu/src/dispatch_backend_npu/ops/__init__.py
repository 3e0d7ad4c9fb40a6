"""Kernels, one module per kind, as in the other backends; those that only call a function are rows of ``aclnn.table``."""
