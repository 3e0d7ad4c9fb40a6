"""The standard's functions that make tensors.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike_array_api.creation import *
