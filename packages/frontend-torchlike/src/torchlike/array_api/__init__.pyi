"""The array API standard's namespace over tensors: its functions, dtypes and constants, with the extensions linalg and fft.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike_array_api import *
from torchlike_array_api.creation import *
from torchlike_array_api.elementwise import *
from torchlike_array_api.manipulation import *
from torchlike_array_api.reductions import *
from torchlike_array_api.searching import *
