"""The structure of a tree without its leaves.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike.values.pytree.specs import *
