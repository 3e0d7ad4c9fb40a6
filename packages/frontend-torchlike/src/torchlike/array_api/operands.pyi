"""Operands as the array API standard promotes them: tensors without dimensions count as others, numbers take their dtype.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike_array_api.operands import *
