"""Kernels that fold, run along, sort or count elements."""
