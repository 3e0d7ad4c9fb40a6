"""Attention over several heads as a module (source: ``torch.nn.modules.activation``).

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike.nn.modules.parts.multihead import *
