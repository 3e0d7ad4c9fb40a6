"""The classes that are containers, each with the functions that take one apart and put one together.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike.values.pytree.registry import *
