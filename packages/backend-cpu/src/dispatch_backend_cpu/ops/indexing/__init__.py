"""Kernels that read and write at the places that indices name."""
