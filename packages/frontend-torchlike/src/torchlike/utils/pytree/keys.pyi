"""The keys by which a leaf is reached from its tree: of sequences, mappings and attributes.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike.values.pytree.keys import *
