"""Modules that hold parameters (source: ``torch.nn.modules.container``).

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike.nn.modules.parts.parameter_container import *
