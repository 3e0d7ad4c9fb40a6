"""The standard's linear algebra, over ``torchlike.linalg``.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike_array_api.linalg import *
from torchlike_array_api.linalg import EigResult as EigResult
from torchlike_array_api.linalg import EighResult as EighResult
from torchlike_array_api.linalg import QRResult as QRResult
from torchlike_array_api.linalg import SlogdetResult as SlogdetResult
from torchlike_array_api.linalg import SVDResult as SVDResult
