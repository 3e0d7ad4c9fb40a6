"""Kernels of layers: convolutions, pooling, normalizations, padding, recurrence, losses."""
