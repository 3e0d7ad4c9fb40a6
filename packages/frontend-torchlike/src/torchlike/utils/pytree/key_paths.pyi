"""Leaves with the paths that lead to them.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike.values.pytree.key_paths import *
