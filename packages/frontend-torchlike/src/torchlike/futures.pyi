"""Values that other threads will give (source: ``torch.futures``).

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike.surface.futures import *
