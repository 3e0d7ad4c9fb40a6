"""Relaxed categorical distributions.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike_distributions.discrete.relaxed_categorical import *
