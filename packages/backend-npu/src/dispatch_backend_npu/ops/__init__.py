"""Kernels, one module per kind, as in the other backends; those that call one function are rows of ``aclnn.table``."""
