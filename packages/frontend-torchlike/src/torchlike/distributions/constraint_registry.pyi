"""Transforms from unconstrained values to constrained ones (source: ``torch.distributions.constraint_registry``).

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike_distributions.constraint_registry import *
