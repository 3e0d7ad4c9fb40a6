"""Containers in containers as trees: their leaves in order, and a spec that puts others in their place.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike.values.pytree import *
