"""The kinds of containers: under which type a tree finds its node; named tuples and struct sequences.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike.values.pytree.kinds import *
