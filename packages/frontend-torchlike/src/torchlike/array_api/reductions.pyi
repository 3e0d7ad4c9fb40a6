"""The standard's functions that reduce or accumulate elements along axes.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike_array_api.reductions import *
