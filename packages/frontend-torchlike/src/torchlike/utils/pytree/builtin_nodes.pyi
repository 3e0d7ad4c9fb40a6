"""Python's containers, and those of torch, as nodes.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike.values.pytree.builtin_nodes import *
