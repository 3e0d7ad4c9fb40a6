"""Gradients compared with finite differences (source: ``torch.autograd.gradcheck``).

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike.testing.numerical_check import *
from torchlike.testing.numerical_check import _Undefined as _Undefined
