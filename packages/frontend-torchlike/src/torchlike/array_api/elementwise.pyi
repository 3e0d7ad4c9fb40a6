"""The standard's functions of elements: rows of two tables over torchlike's, promoted as the standard says.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike_array_api.elementwise import *
