"""The standard's Fourier transforms: rows of two tables over ``torchlike.fft``.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike_array_api.fft import *
