"""Trees to leaves and back, and functions of all leaves.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike.values.pytree.walks import *
