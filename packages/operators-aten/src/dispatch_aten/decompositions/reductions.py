"""Composite kernels, being written."""
IMPLICIT = {}
EXPLICIT = {}
