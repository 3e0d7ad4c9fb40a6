"""Jacobians, Hessians and their products with vectors (source: ``torch.autograd.functional``).

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike.levels.functional import *
