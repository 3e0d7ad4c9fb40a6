"""Collectives between tensors of the cpu: by MPI in its jobs, and else by the gloo that XLA has."""

from .part import Collectives

__all__ = ["Collectives"]
