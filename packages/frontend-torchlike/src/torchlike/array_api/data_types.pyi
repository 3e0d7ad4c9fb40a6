"""Dtypes under the standard's names, their limits, and how they convert.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike_array_api.data_types import *
from torchlike_array_api.data_types import FloatInfo as FloatInfo
from torchlike_array_api.data_types import IntegerInfo as IntegerInfo
