"""The standard's functions that arrange and pick elements.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike_array_api.manipulation import *
